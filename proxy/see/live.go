package see

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/proxy/accounts"
	"sluice/proxy/message"
)

// live sends newer values to open pages. A frame is made once for all readers of a page.
type live struct {
	sampler *Sampler

	mu     sync.Mutex
	at     time.Time         // of the frames
	frames map[string][]byte // by the page
}

func newLive(s *Sampler) *live { return &live{sampler: s} }

// frame returns the values of a page as an event; nil if there is no such page.
func (l *live) frame(page string) []byte {
	f := l.sampler.Facts()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.Equal(f.At) {
		l.at, l.frames = f.At, map[string][]byte{}
	}
	if frame, made := l.frames[page]; made {
		return frame
	}
	v := newView(f, page)
	if v == nil {
		return nil
	}
	text, err := json.Marshal(v.Values)
	if err != nil {
		return nil // not reached: a map of strings
	}
	l.frames[page] = fmt.Appendf(nil, "retry: %d\ndata: %s\n\n", retryAfter.Milliseconds(), text)
	return l.frames[page]
}

// acceptWithin is how long a reader may take to accept an event.
const acceptWithin = 10 * time.Second

// streamsFor is how long a stream lasts. The browser opens another one after retryAfter, and is authorized again.
const (
	streamsFor = 30 * time.Second
	retryAfter = 500 * time.Millisecond
)

func (l *live) serve(w http.ResponseWriter, r *http.Request) {
	page := r.URL.Query().Get("page")
	if l.frame(page) == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), streamsFor)
	defer cancel()
	held, err := l.sampler.options.Hold(r, cancel)
	if err != nil {
		http.Error(w, message.TooMany.Say(accounts.Requests), http.StatusTooManyRequests)
		return
	}
	defer held.Release()
	c := http.NewResponseController(w)
	t := time.NewTicker(fresh)
	defer t.Stop()
	for {
		frame := l.frame(page)
		_ = c.SetWriteDeadline(time.Now().Add(acceptWithin)) // the writers of tests have none
		if _, err := w.Write(frame); err != nil || frame == nil || c.Flush() != nil {
			return // the client or the resource has gone
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
