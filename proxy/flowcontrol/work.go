package flowcontrol

import (
	"context"
	"math"
	"net/http"
	"runtime"
	"sync"
	"time"

	"sluice/proxy/accounts"
	"sluice/proxy/queue"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/trace"
)

const (
	// turn is how long the work of a response goes on before it is the turn of others, and how long a write
	// may be blocked by its client before others work meanwhile. It is a multiple of what it takes to write a
	// piece, and much less than a client notices.
	turn = time.Millisecond
	// ShortWork is how many bytes a response may have without waiting for a turn.
	ShortWork = workPiece
	// workPiece is the most that is written before others may have a turn.
	workPiece = 256 << 10
	// selectorCost is about how many bytes are written in the time that it takes to parse a byte of a selector.
	selectorCost = 512
)

// CPU shares the processors fairly among the users with long responses from the cache, lists and initial
// events that have more than a few bytes, and with long selectors. As many of them work at the same time as there are processors, by
// turns, so that each user gets as much as any other, however many requests it makes. Short responses do not
// wait, unless their user has as many under way as there are places. A nil CPU lets everything work at once.
type CPU struct {
	queue *queue.Queue
	short *queue.Queue // of short responses that began without a turn, for which there are places without end
}

// NewCPU returns a CPU. With 0 places there are as many as processors.
func NewCPU(places int) *CPU {
	c := &CPU{queue: queue.New(0), short: queue.New(math.MaxInt64)}
	c.SetPlaces(places)
	return c
}

// SetPlaces changes how many responses work at the same time.
func (c *CPU) SetPlaces(n int) {
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	c.queue.SetPlaces(int64(n))
}

// Numbers returns how many responses work and how many wait for their turn.
func (c *CPU) Numbers() (working int64, waiting int) { return c.queue.Numbers() }

// Places returns how many responses work at the same time.
func (c *CPU) Places() int64 { return c.queue.Places() }

// Parse waits for a turn to parse the selectors of a request, if they are long. The caller must call end. An error means that
// the context has ended.
func (c *CPU) Parse(ctx context.Context, info *request.Info) (end func(), err error) {
	bytes := selectorCost * int64(len(info.LabelSelector)+len(info.FieldSelector))
	if bytes <= ShortWork {
		return func() {}, nil
	}
	work := c.Work(ctx, info.Account.Key, bytes)
	return work.Rest, work.Next()
}

// Work is the work for one response. Its methods can be called on nil, and by one goroutine.
type Work struct {
	cpu   *CPU
	ctx   context.Context
	key   accounts.Key
	free  int64         // bytes that may still be written without a turn
	brief *queue.Ticket // of CPU.short; nil if it does not count there
	waits *trace.Pieces
	had   bool // a place has been taken since the last Rest; without one nothing below changes

	mu       sync.Mutex // guards what follows
	over     bool       // the turn has been long enough
	blocking bool       // a write runs, which the client may block
	leave    func()     // gives the place back; nil while there is none
	timer    *time.Timer
}

// Work returns the work for a response to a caller, for which about as many bytes have to be examined or written. The
// caller must call Rest at the end.
func (c *CPU) Work(ctx context.Context, k accounts.Key, bytes int64) *Work {
	if c == nil {
		return nil
	}
	w := &Work{cpu: c, ctx: ctx, key: k}
	if bytes > ShortWork {
		return w
	}
	if t := c.short.Join(k, 1, c.Places()); t.HasStarted() {
		w.free, w.brief = ShortWork, t
	} else {
		t.Leave()
	}
	return w
}

// Long waits for a turn, as Next does for a long response: what follows is long.
func (w *Work) Long() error {
	if w == nil {
		return nil
	}
	w.free = 0
	return w.Next()
}

// Next waits for a turn if the response is long and its last turn is over. It returns an error only if the
// context ends.
func (w *Work) Next() error {
	if w == nil || w.free > 0 || w.inTurn() {
		return nil
	}
	w.giveBack()
	t := w.cpu.queue.Join(w.key, 1, 0)
	if err := w.await(t); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.had = true
	w.leave, w.over = t.Leave, false
	if w.timer == nil {
		w.timer = time.AfterFunc(turn, w.end)
	} else {
		w.timer.Reset(turn)
	}
	return nil
}

// await waits for a turn. All waits of a response are one span.
func (w *Work) await(t *queue.Ticket) error {
	if t.HasStarted() {
		return nil
	}
	if w.waits == nil {
		w.waits = trace.InPieces(w.ctx, "turns")
	}
	defer w.waits.Done(w.waits.Begin())
	return t.WaitUntraced(w.ctx)
}

func (w *Work) inTurn() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leave != nil && !w.over
}

// end ends a turn: at once if a write runs, else before what follows. It may be late and end the next
// turn early, which does no harm.
func (w *Work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.blocking {
		w.giveBackLocked()
	}
}

// Rest gives the place back until the response goes on, perhaps as a short one.
func (w *Work) Rest() {
	if w == nil {
		return
	}
	w.free = ShortWork
	w.waits.End()
	w.waits = nil
	if w.brief != nil {
		w.brief.Leave()
		w.brief = nil
	}
	if w.had {
		w.giveBack()
		w.had, w.timer = false, nil // a watch may rest for hours
	}
}

func (w *Work) giveBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.giveBackLocked()
}

func (w *Work) giveBackLocked() {
	if w.leave == nil {
		return
	}
	w.timer.Stop()
	w.leave()
	w.leave = nil
}

// Write writes p to out, which must lead to the client through a writer of Writer, in turns.
func (w *Work) Write(client *response.WriteDeadline, out interface{ Write([]byte) (int, error) }, p []byte) error {
	if len(p) > workPiece {
		client.Hold(p)
		defer client.Hold(nil)
	}
	if w == nil {
		_, err := client.Write(out, p)
		return err
	}
	for len(p) > 0 {
		if err := w.Next(); err != nil {
			return err
		}
		n := min(len(p), workPiece)
		if _, err := client.Write(out, p[:n]); err != nil {
			return err
		}
		p = p[n:]
		w.free -= int64(n)
	}
	return nil
}

// Compressed tells that what is written next was made of so many bytes more. Text costs what it was, not what it became.
func (w *Work) Compressed(saved int) {
	if w != nil {
		w.free -= int64(saved)
	}
}

// Writer returns a writer to the client during whose calls, if they take longer than a turn, others work.
func (w *Work) Writer(to http.ResponseWriter) http.ResponseWriter {
	if w == nil {
		return to
	}
	return &workWriter{to, w}
}

type workWriter struct {
	http.ResponseWriter
	work *Work
}

// Write implements io.Writer.
func (w *workWriter) Write(p []byte) (int, error) {
	w.work.block(true)
	defer w.work.block(false)
	return w.ResponseWriter.Write(p)
}

// FlushError is what http.ResponseController calls.
func (w *workWriter) FlushError() error {
	w.work.block(true)
	defer w.work.block(false)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w *workWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// block begins or ends a call that the client may block.
func (w *Work) block(begin bool) {
	if !w.had {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blocking = begin; begin && w.over {
		w.giveBackLocked()
	}
}
