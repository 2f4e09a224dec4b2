package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/clients"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/plan"
)

const (
	// batch is the most events that are written before a flush.
	batch = 128
	// shortestLife is the shortest life of a watch without timeoutSeconds. Like one of the apiserver
	// it ends at a random time between this and twice this.
	shortestLife = 30 * time.Minute
)

// loop is one open watch. Its state is three versions, of which start holds two: delivered
// and initialEventsEnd.
type loop struct {
	opening
	// lastSent is the version of the last event or bookmark that was written, from which the client
	// resumes.
	lastSent uint64

	plan           *plan.Plan
	server         *Server
	proofs         fresh.Proofs
	r              *http.Request
	out            *writer
	columnsChanged <-chan struct{}
	metrics        counters
	began          time.Time
	proof          *proof
	proofLimit     time.Time        // until when the initial events are proven recent; zero if nothing was to be proven
	inventory      *cache.Inventory // of the scope of this watch, to prove its initial events; nil if none was taken
	recheck        *accessRecheck
	hold           *limits.Hold // of the buffers
	timer          *timer
	wake           wake
	ignoreContext  func() bool     // ends the wait for the end of the request
	draining       <-chan struct{} // nil once the drain has been noticed

	reached     atomic.Uint64 // delivered, once it has been written
	restBounded bool          // the store has ended
	columnsSent bool          // a Table event has been written: the first one has the columns
	ended       request.WatchEnd
	buf         []byte // events and bookmarks that only this watch writes
	counted     int64  // bytes of hold
}

// run writes the watch until it has to end. The client needs no event for that: it resumes from the
// last version that it was sent.
func (l *loop) run() {
	l.start()
	defer l.end()
	if err := l.begin(); err != nil {
		l.endWith(err)
		return
	}
	for l.turn() {
	}
}

// start starts the goroutines beside the loop.
func (l *loop) start() {
	ctx := l.r.Context()
	l.began = time.Now()
	l.wake = newWake()
	l.ignoreContext = context.AfterFunc(ctx, l.wake.signal)
	l.timer = newTimer(l.lifetime(), l.wake)
	l.recheck = l.server.startRechecks(l.r, l.plan.Read, l.out.client, l.wake.signal)
	l.hold, _ = l.plan.Info.Account.TakeUntil(0, func() { l.recheck.end(errTooSlow) })
	l.draining = l.server.Draining
	l.reached.Store(l.delivered)
	if l.state != nil {
		l.reached.Store(l.state.Version)
	}
	l.plan.Info.Watch.Follow(l.lag)
	l.awaitProof(ctx)
}

// lag returns how far the client is behind. Others call it.
func (l *loop) lag() clients.Lag {
	events, since := l.cursor.Behind(l.reached.Load())
	if events == 0 {
		return clients.Lag{}
	}
	return clients.Lag{Events: events, Oldest: time.Since(since)}
}

// turn delivers all events and waits for the next action. It reports whether the watch goes on.
func (l *loop) turn() bool {
	wake := l.cursor.Ready() // before deliver reads, so that no event is missed
	l.boundRest()
	more, err := l.deliver()
	if err == nil {
		err = l.maybeEndInitialEvents()
	}
	if err != nil {
		l.endWith(err)
		return false
	}
	l.reached.Store(l.delivered)
	if more {
		wake = closed // a watch that lags must still notice everything else
	} else {
		l.restartProof(l.r.Context())
		l.out.work.Rest()
	}
	return l.wait(wake)
}

// wait waits for the next event, and takes all other actions. It reports whether the watch goes on. A quiet watch
// is here all the time: the stack of the functions up to here is held by each of thousands.
func (l *loop) wait(wake <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	case <-l.proof.Done():
		return l.proven()
	case <-l.columnsChanged:
		return l.endAs(request.StoreRebuilt)
	case <-l.draining:
		l.draining = nil
		l.timer.endWithin(l.server.Spread())
		return true
	case <-l.wake:
		return l.attend()
	}
}

// attend takes the actions other than events and drains. It reports whether the watch goes on.
func (l *loop) attend() bool {
	if l.r.Context().Err() != nil {
		return l.endAs(request.ClientClosed)
	}
	if l.recheck.denied.Load() != nil {
		l.endWith(errToldToEnd)
		return false
	}
	return l.onTimer(l.timer)
}

// boundRest bounds how long the client may take for the rest of the events once the store has ended: only
// such clients keep it in memory.
func (l *loop) boundRest() {
	if l.restBounded {
		return
	}
	select {
	case <-l.plan.Resource.Store.Done():
		l.restBounded = true
		l.out.client.EndWithin(response.WriteTimeout)
	default:
	}
}

// closed is a closed channel.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (l *loop) lifetime() time.Duration {
	if t := l.plan.Options.Timeout; t > 0 {
		return t
	}
	return shortestLife + rand.N(shortestLife)
}

// onTimer takes the action that is due, and reports whether the watch goes on.
func (l *loop) onTimer(timer *timer) bool {
	now := time.Now()
	if due(&timer.end, now) {
		if timer.drained {
			_ = l.sendBookmark() // so that the client resumes from here; the watch ends anyway
			return l.endAs(request.Drained)
		}
		return l.endAs(request.Timeout)
	}
	if due(&timer.bookmark, now) {
		before := l.lastSent
		if err := l.sendBookmark(); err != nil {
			l.endWith(err)
			return false
		}
		timer.scheduleBookmark(now, l.lastSent > before || !l.plan.Options.AllowBookmarks)
	}
	timer.reset()
	return true
}

// begin sends the headers and the initial events.
func (l *loop) begin() error {
	if err := l.out.begin(); err != nil {
		return err
	}
	if l.state == nil {
		l.lastSent = l.delivered
		return nil
	}
	if err := l.writeInitialEvents(); err != nil {
		return err
	}
	l.plan.Info.Listed = l.plan.Estimate().Bytes
	l.delivered, l.lastSent = l.state.Version, l.state.Version
	l.state, l.buf, l.out.scratch = nil, nil, nil // free the snapshot and the buffers
	if err := l.count(); err != nil {
		return err
	}
	l.out.work.Rest()
	if err := l.maybeEndInitialEvents(); err != nil {
		return err
	}
	return l.out.flush()
}

// deliver writes the next events and flushes once. It reports whether more can be read already.
func (l *loop) deliver() (more bool, err error) {
	if err := l.out.work.Next(); err != nil {
		return false, err
	}
	var events [batch]*cache.Event
	n, version, err := l.cursor.Next(events[:])
	if err != nil {
		return false, err
	}
	written, arrived := 0, time.Time{}
	for i, e := range events[:n] {
		events[i] = nil
		t, selected := e.TypeFor(l.plan.Selection.Filter)
		if !selected {
			continue
		}
		if l.recheck.denied.Load() != nil {
			return false, errToldToEnd
		}
		if err := l.writeEvent(e, t); err != nil {
			return false, err
		}
		l.lastSent = e.RV
		if written++; written == 1 {
			arrived = e.At
		}
		if l.out.client.WasBlocked() && i+1 < n { // read the rest again, or find it gone, rather than hold it
			l.cursor.Rewind(e)
			clear(events[i+1 : n])
			n, version = i+1, e.RV
			more = true
			break
		}
	}
	l.delivered = max(l.delivered, version)
	more = more || n == len(events)
	if written == 0 {
		return more, nil
	}
	l.metrics.sent(written)
	l.plan.Info.Events += int64(written)
	if err := l.out.flush(); err != nil {
		return false, err
	}
	l.metrics.written(arrived, l.began)
	return more, nil
}

// writeEvent writes an event: the frame that all watches of the format share, or a text of its own.
func (l *loop) writeEvent(e *cache.Event, t cache.Type) error {
	shared := l.plan.Format.Shareable() && e.Shared()
	if longest := encode.Longest(e.Size()); !shared && longest > flowcontrol.ShortWork {
		if err := l.out.work.Long(); err != nil {
			return err
		}
		if err := l.claim(longest); err != nil {
			return err
		}
	}
	if err := l.writeText(e, t); err != nil {
		return err
	}
	if max(cap(l.buf), cap(l.out.scratch)) > smallBuffer {
		l.buf, l.out.scratch = nil, nil
	}
	return l.claim(0)
}

// smallBuffer is the most that a watch keeps of a buffer until its next event.
const smallBuffer = 4 << 10

// writeText writes the frame of an event, or its text with ages as of now, or the columns of Tables before it.
func (l *loop) writeText(e *cache.Event, t cache.Type) error {
	encoder := l.plan.Format
	switch {
	case encoder.Shareable():
		return l.out.frame(e, t, encoder)
	case encoder.Memoizable() && !l.first():
		return encoder.WriteAged(l.server.Encoded, e, t, l.out.write)
	}
	o, err := e.ObjectFor(encoder, t)
	if err != nil {
		return err
	}
	if l.buf, err = l.appendEvent(l.buf[:0], t, o); err != nil {
		return err
	}
	return l.out.write(l.buf)
}

// appendEvent appends an event of this watch alone.
func (l *loop) appendEvent(dst []byte, t cache.Type, o *tree.Object) ([]byte, error) {
	if !l.first() {
		return l.plan.Format.AppendEvent(dst, t, o)
	}
	l.columnsSent = true
	return l.plan.Format.AppendFirst(dst, t, o)
}

// first reports whether the next event is the first one of a watch of Tables, which has the columns.
func (l *loop) first() bool { return !l.columnsSent && !l.plan.Format.Shareable() }

// maybeEndInitialEvents writes the bookmark that ends the initial events once everything up to a
// version that is proven recent has been delivered. The deprecated paths have no such bookmark.
func (l *loop) maybeEndInitialEvents() error {
	if l.initialEventsEnd == 0 || !l.initialEventsProven() {
		return nil
	}
	l.initialEventsEnd, l.inventory = 0, nil
	// A deletion that has been sent may be above the version up to which everything has been delivered.
	l.delivered = max(l.delivered, l.lastSent)
	if l.plan.Info.LegacyWatchPath {
		l.lastSent = l.delivered
		return nil
	}
	return l.writeBookmark(l.delivered, true)
}

// sendBookmark writes a bookmark at the version up to which everything has been delivered, unless the
// client has that version already or the initial events have not ended.
func (l *loop) sendBookmark() error {
	if l.initialEventsEnd != 0 {
		return nil
	}
	version, err := l.cursor.CaughtUpVersion()
	switch {
	case errors.Is(err, cache.ErrPending):
		return nil
	case err != nil:
		return err
	case version <= l.lastSent:
		return nil
	}
	return l.writeBookmark(version, false)
}

// writeBookmark writes and flushes a bookmark if the client has asked for bookmarks.
func (l *loop) writeBookmark(version uint64, initialEventsEnd bool) error {
	if !l.plan.Options.AllowBookmarks {
		return nil
	}
	var err error
	l.buf, err = l.plan.Format.AppendBookmark(l.buf[:0], strconv.FormatUint(version, 10), initialEventsEnd, !l.columnsSent)
	if err != nil {
		return err
	}
	l.columnsSent, l.lastSent = true, version
	if err := l.out.write(l.buf); err != nil {
		return err
	}
	return l.out.flush()
}
