package flowcontrol

import (
	"context"
	"io"
	"time"

	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

const (
	// turn is how long a response is worked on before others get their places.
	turn = time.Millisecond
	// ShortWork is how many bytes a response may have without a place.
	ShortWork = workPiece
	// workPiece is the most that is written before others may have the place.
	workPiece = 256 << 10
	// selectorCost is about how many bytes are written in the time that it takes to parse a byte of a selector.
	selectorCost = 512
)

// CPU shares the processors fairly among the users with long responses from the cache, lists and initial events of more
// than ShortWork, and with long selectors. As many of them work at the same time as there are processors. None of them has its
// place while it is written to its client. A nil CPU lets everything work at once.
type CPU struct{ *limits.Queue }

// NewCPU returns a CPU of so many processors.
func NewCPU(processors int) *CPU { return &CPU{limits.NewQueue(processors, 0)} }

// Parse waits for a place to parse the selectors of a request, if they are long. The caller must call end. The error is that of
// Next.
func (c *CPU) Parse(ctx context.Context, info *request.Info) (end func(), err error) {
	bytes := selectorCost * int64(len(info.LabelSelector)+len(info.FieldSelector))
	if bytes <= ShortWork {
		return func() {}, nil
	}
	work := c.Work(ctx, info.Waits(), bytes)
	return work.Rest, work.Next()
}

// Work is the work for one response. Its methods can be called on nil, and by one goroutine.
type Work struct {
	cpu   *CPU
	ctx   context.Context
	by    limits.Caller
	free  int64  // bytes that may still be written without a place
	leave func() // gives the place back; nil while there is none
	since time.Time
}

// Work returns the work for a response to a caller, for which about as many bytes have to be examined or written. The
// caller must call Rest at the end.
func (c *CPU) Work(ctx context.Context, by limits.Caller, bytes int64) *Work {
	if c == nil {
		return nil
	}
	w := &Work{cpu: c, ctx: ctx, by: by}
	if bytes <= ShortWork {
		w.free = ShortWork
	}
	return w
}

// Long waits for a place, as Next does for a long response: the rest is long.
func (w *Work) Long() error {
	if w == nil {
		return nil
	}
	w.free = 0
	return w.Next()
}

// Next waits for a place if the response is long and has none, or has had it for a turn. The error is that of the context, or
// says that too many wait.
func (w *Work) Next() (err error) {
	if w == nil || w.free > 0 || w.leave != nil && time.Since(w.since) < turn {
		return nil
	}
	w.giveBack()
	w.leave, err = w.cpu.Enter(w.ctx, w.by, 1)
	w.since = time.Now()
	return err
}

// Rest gives the place back until the response goes on, perhaps as a short one.
func (w *Work) Rest() {
	if w != nil {
		w.free = ShortWork
		w.giveBack()
	}
}

func (w *Work) giveBack() {
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

// Write writes p to out, which must lead to the client, in pieces. No place is kept while a piece is written.
func (w *Work) Write(client *response.WriteDeadline, out io.Writer, p []byte) error {
	for len(p) > 0 {
		if err := w.Next(); err != nil {
			return err
		}
		piece := p[:min(len(p), workPiece)]
		if p = p[len(piece):]; w != nil {
			w.free -= int64(len(piece))
			w.giveBack()
		}
		if _, err := client.Write(out, piece); err != nil {
			return err
		}
	}
	return nil
}

// Add counts bytes that cost work and are not written: of events that are not selected, and those that compression saves.
func (w *Work) Add(bytes int) {
	if w != nil {
		w.free -= int64(bytes)
	}
}
