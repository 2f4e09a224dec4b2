package serve

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache"
)

const (
	// batch is the most events that are written before a flush.
	batch = 128
	// shortestLife is the shortest life of a watch without timeoutSeconds. Like one of the apiserver
	// it ends at a random time between this and twice this.
	shortestLife = 30 * time.Minute
)

// watchLoop is one open watch. Its state is three versions, of which watchStart holds two: delivered
// and initialEventsEnd.
type watchLoop struct {
	watchStart
	// lastSent is the version of the last event or bookmark that was written, from which the client
	// resumes.
	lastSent uint64

	plan           *plan
	options        *Options
	r              *http.Request
	out            *watchWriter
	columnsChanged <-chan struct{}
	metrics        watchMetrics
	fence          fenceWait
	recheck        *accessRecheck

	columnsSent bool   // a Table event has been written: the first one has the columns
	buf         []byte // events and bookmarks that only this watch writes
}

// run writes the watch until it has to end. The client needs no event for that: it resumes from the
// last version that it was sent.
func (l *watchLoop) run() {
	ctx := l.r.Context()
	timer := newWatchTimer(l.lifetime())
	defer timer.Stop()
	l.recheck = startRechecks(l.options, l.r, l.plan.read, l.out.client)
	defer l.recheck.stop()
	l.awaitFence(ctx)
	defer func() { l.fence.stop() }()
	defer l.out.end()
	if err := l.begin(); err != nil {
		l.endWith(err)
		return
	}
	events := make([]*cache.Event, batch)
	draining := l.options.Draining
	for {
		wake := l.cursor.Ready() // before deliver reads, so that no event is missed
		more, err := l.deliver(events)
		if err == nil {
			err = l.maybeEndInitialEvents()
		}
		if err != nil {
			l.endWith(err)
			return
		}
		if more {
			wake = closed // a watch that lags must still notice everything else
		} else {
			l.restartFence(ctx)
		}
		select {
		case <-wake:
		case result := <-l.fence.result:
			if !l.fenced(result) {
				return
			}
		case <-l.columnsChanged:
			return
		case <-ctx.Done():
			return
		case <-draining:
			draining = nil
			timer.endWithin(l.options.Grace)
		case <-l.recheck.revoked:
			l.endWith(errRevoked)
			return
		case <-timer.C:
			if !l.onTimer(timer) {
				return
			}
		}
	}
}

// errRevoked ends a watch whose access has been revoked.
var errRevoked = errors.New("access revoked")

// endWith writes an ERROR event that says why the watch ends, if err is errRevoked or errUnencodable.
// Clients resume after a 429 from their last version, and the watch then passes.
func (l *watchLoop) endWith(err error) {
	var status *apierrors.StatusError
	switch {
	case errors.Is(err, errRevoked):
		status = l.recheck.denied.Load()
	case errors.Is(err, errUnencodable):
		status = apierrors.NewTooManyRequests("the next object cannot be written in the format of this watch; watch again", 1)
	default:
		return
	}
	l.writeError(status)
}

// closed is a closed channel.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (l *watchLoop) lifetime() time.Duration {
	if t := l.plan.options.Timeout; t > 0 {
		return t
	}
	return shortestLife + rand.N(shortestLife)
}

// onTimer does what is due, and reports whether the watch goes on.
func (l *watchLoop) onTimer(timer *watchTimer) bool {
	now := time.Now()
	if due(&timer.end, now) {
		if timer.drained {
			_ = l.sendBookmark() // so that the client resumes from here; the watch ends anyway
		}
		return false
	}
	if due(&timer.bookmark, now) {
		before := l.lastSent
		if l.sendBookmark() != nil {
			return false
		}
		timer.scheduleBookmark(now, l.lastSent > before || !l.plan.options.AllowBookmarks)
	}
	timer.reset()
	return true
}

// begin sends the headers and the initial events.
func (l *watchLoop) begin() error {
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
	l.delivered = l.state.Version
	l.state, l.buf, l.out.scratch = nil, nil, nil // free the snapshot and the buffers
	if err := l.maybeEndInitialEvents(); err != nil {
		return err
	}
	return l.out.flush()
}

// deliver writes the next events and flushes once. It reports whether more can be read already.
func (l *watchLoop) deliver(events []*cache.Event) (more bool, err error) {
	n, version, err := l.cursor.Next(events)
	if err != nil {
		return false, err
	}
	written := 0
	for i, e := range events[:n] {
		events[i] = nil
		t, selected := e.TypeFor(l.plan.selection.filter)
		if !selected {
			continue
		}
		if l.recheck.denied.Load() != nil {
			return false, errRevoked
		}
		if err := l.writeEvent(e, t); err != nil {
			return false, err
		}
		l.lastSent = e.RV
		written++
	}
	l.delivered = max(l.delivered, version)
	if written == 0 {
		return n == len(events), nil
	}
	l.metrics.sent(written)
	return n == len(events), l.out.flush()
}

// writeEvent writes an event: the frame that all watches of the format share or, in Tables, whose
// bytes depend on the time, one of its own.
func (l *watchLoop) writeEvent(e *cache.Event, t cache.Type) error {
	encoder := l.plan.encoder
	if encoder.Shareable() {
		return l.out.frame(e, t, encoder)
	}
	o := e.Object
	var err error
	if t == cache.Deleted && e.Type != cache.Deleted {
		if o, err = encoder.DeletedFromSelection(e.Previous, e.RV); err != nil {
			return err
		}
	}
	if l.buf, err = l.appendEvent(l.buf[:0], t, o); err != nil {
		return err
	}
	return l.out.write(l.buf)
}

// appendEvent appends an event of this watch alone.
func (l *watchLoop) appendEvent(dst []byte, t cache.Type, o *cache.Object) ([]byte, error) {
	encoder := l.plan.encoder
	if l.columnsSent || encoder.Shareable() {
		return encoder.AppendEvent(dst, t, o)
	}
	l.columnsSent = true
	return encoder.AppendFirst(dst, t, o)
}

// maybeEndInitialEvents writes the bookmark that ends the initial events once everything up to a
// version that is proven recent has been delivered. The deprecated paths have no such bookmark.
func (l *watchLoop) maybeEndInitialEvents() error {
	if l.initialEventsEnd == 0 || !l.initialEventsProven() {
		return nil
	}
	l.initialEventsEnd = 0
	if l.plan.info.LegacyWatchPath {
		l.lastSent = l.delivered
		return nil
	}
	return l.writeBookmark(l.delivered, true)
}

// sendBookmark writes a bookmark at the version up to which everything has been delivered, unless the
// client has that version already or the initial events have not ended.
func (l *watchLoop) sendBookmark() error {
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
func (l *watchLoop) writeBookmark(version uint64, initialEventsEnd bool) error {
	if !l.plan.options.AllowBookmarks {
		return nil
	}
	var err error
	l.buf, err = l.plan.encoder.AppendBookmark(l.buf[:0], strconv.FormatUint(version, 10), initialEventsEnd, !l.columnsSent)
	if err != nil {
		return err
	}
	l.columnsSent, l.lastSent = true, version
	if err := l.out.write(l.buf); err != nil {
		return err
	}
	return l.out.flush()
}
