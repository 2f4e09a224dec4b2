package serve

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/proxy/mirror"
	"sluice/proxy/reply"
	"sluice/proxy/request"
)

const (
	// shortestLife is the least that a watch lives which names no timeout; it
	// ends at a random moment between this and twice this, as the apiserver's.
	shortestLife = 30 * time.Minute
	// bookmarkEvery and bookmarkBefore say when bookmarks are sent: every
	// minute, and before the end (wire.md 7.6).
	bookmarkEvery  = time.Minute
	bookmarkBefore = 2 * time.Second
	// doubtfulFor is how long a watch goes on though its caller's access
	// cannot be checked, because the upstream does not answer.
	doubtfulFor = 2 * time.Minute
	// batch is the most events that are written before a flush.
	batch = 128
)

// watch serves a watch until it ends, or returns why it cannot.
func (s *Reads) watch(w http.ResponseWriter, r *http.Request, p *plan) string {
	info := request.From(r.Context())
	scope := cache.Scope{Namespace: info.Namespace}
	stream := &stream{
		reads: s, r: r, encoder: p.encoder, w: w, control: http.NewResponseController(w),
		bookmarks: p.options.Bookmarks, store: p.collection.Store, scope: scope,
		metrics: s.options.Metrics.watcher(info),
	}
	if reason := stream.open(p); reason != "" {
		return reason
	}
	defer stream.cursor.Close()
	info.Outcome = request.Outcome{Source: request.FromCache, Format: p.encoder.Format().Encoding.String()}
	h := w.Header()
	reply.Headers(h, info)
	h["Warning"] = p.collection.Warnings
	h.Set("Content-Type", p.encoder.ContentType(true))
	w.WriteHeader(http.StatusOK)
	stream.metrics.open()
	defer stream.metrics.close()
	stream.run(p.options.Timeout)
	return ""
}

// stream is one open watch.
type stream struct {
	reads   *Reads
	r       *http.Request
	w       http.ResponseWriter
	control *http.ResponseController
	metrics watcherMetrics

	encoder   *mirror.Encoder
	store     *cache.Store
	scope     cache.Scope
	state     *cache.Snapshot // what the watch begins with; nil for none
	cursor    *cache.Cursor
	bookmarks bool

	sent uint64 // version up to which the client has been told everything
	buf  []byte // small writes: bookmarks, the initial state
}

// open takes the state or the place in history from which the watch starts.
func (t *stream) open(p *plan) (reason string) {
	var err error
	if p.state() {
		if p.version > t.store.Snapshot().Version {
			return reasonAhead
		}
		t.state, t.cursor, err = t.store.WatchState(t.scope)
	} else if p.version == 0 {
		t.cursor, err = t.store.Watch(t.scope, t.store.Snapshot().Version)
	} else {
		t.sent = p.version
		t.cursor, err = t.store.Watch(t.scope, p.version)
	}
	switch {
	case errors.Is(err, cache.ErrGone):
		return reasonHistory
	case err != nil:
		return mirror.Syncing
	}
	return ""
}

// run writes the watch until it has to end. Ending it needs no word to the
// client: it comes back with the last version it was told.
func (t *stream) run(timeout time.Duration) {
	if timeout == 0 {
		timeout = shortestLife + rand.N(shortestLife)
	}
	c := newClock(timeout, t.reads.options.Recheck)
	defer c.stop()
	if err := t.begin(); err != nil {
		return
	}
	events := make([]*cache.Event, batch)
	draining := t.reads.options.Draining
	for {
		bell := t.cursor.Wait()
		more, err := t.advance(events)
		if err != nil {
			return
		}
		if more {
			continue
		}
		select {
		case <-bell:
		case <-t.store.Done():
			if _, err := t.advance(events); err != nil {
				return
			}
		case <-t.r.Context().Done():
			return
		case <-draining:
			draining = nil
			c.endWithin(t.reads.options.Grace)
		case now := <-c.bookmark.C:
			if t.mark(false) != nil || t.flush() != nil {
				return
			}
			c.nextBookmark(now)
		case <-c.recheck.C:
			if !c.allowed(t.reads.options.Access.Holds(t.r)) {
				return
			}
		case <-c.end.C:
			if c.drained {
				_ = t.mark(false) // so that the client resumes from here
				_ = t.flush()
			}
			return
		}
	}
}

// begin sends the headers, and the state if the watch starts with it.
func (t *stream) begin() error {
	if t.state != nil {
		for o := range t.state.Objects(t.scope.Range()) {
			var err error
			if t.buf, err = t.encoder.AppendEvent(t.buf, cache.Added, o); err != nil {
				return err
			}
			if len(t.buf) >= pieceSize {
				if err := t.write(t.buf); err != nil {
					return err
				}
				t.buf = t.buf[:0]
			}
		}
		if err := t.write(t.buf); err != nil {
			return err
		}
		t.buf = nil
		t.sent = t.state.Version
		if err := t.mark(true); err != nil {
			return err
		}
		t.state = nil // the snapshot may go
	}
	return t.flush()
}

// advance writes the events that have come, and reports whether there may be
// more already. What it writes is flushed once.
func (t *stream) advance(events []*cache.Event) (more bool, err error) {
	n, version, err := t.cursor.Next(events)
	if err != nil {
		return false, err
	}
	for i, e := range events[:n] {
		frame, err := e.Frame(t.encoder, e.Type)
		if err != nil {
			return false, err
		}
		if err := t.write(frame); err != nil {
			return false, err
		}
		events[i] = nil
	}
	t.metrics.sent(n)
	if n == 0 {
		return false, nil
	}
	t.sent = max(t.sent, version)
	return n == len(events), t.flush()
}

// mark writes a bookmark, if the client wants them and there is something to
// tell. The one that ends the initial state is always told.
func (t *stream) mark(endOfState bool) error {
	if !t.bookmarks {
		return nil
	}
	version := t.sent
	if !endOfState {
		reached, err := t.reached()
		if err != nil || reached <= t.sent {
			return err
		}
		version = reached
	}
	var err error
	t.buf, err = t.encoder.AppendBookmark(t.buf[:0], strconv.FormatUint(version, 10), endOfState, false)
	if err != nil {
		return err
	}
	t.sent = version
	return t.write(t.buf)
}

// reached returns the version up to which the client has been sent everything.
// Events that have come meanwhile are left for later; then it is the last
// version that was sent.
func (t *stream) reached() (uint64, error) {
	version, err := t.cursor.Caught()
	if errors.Is(err, cache.ErrBehind) {
		return t.sent, nil
	}
	return version, err
}

func (t *stream) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_ = t.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := t.w.Write(p)
	return err
}

func (t *stream) flush() error {
	_ = t.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	return t.control.Flush()
}
