package watch

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
	"sluice/proxy/serve/body"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// batch is the most events that are written before a flush.
const batch = 128

// Access authorizes open watches.
type Access interface {
	// StillAllowed returns why the open watch r must end: its credentials are no longer valid for the
	// same user, or this user may no longer make the read; nil if neither is so. An error means that
	// the apiserver could not be asked.
	StillAllowed(r *http.Request, read *request.Read) (denied *apierrors.StatusError, err error)
	// Notify calls f, which must not block, whenever access rules have changed, until stop is called.
	Notify(f func()) (stop func())
}

// Server serves watches from the cache.
type Server struct {
	Access    Access
	Resources plan.Resources
	// Encoded bounds the memory of encoded and compressed segments; nil keeps none.
	Encoded *tree.Budget
	// CPU shares the processors among users; nil lets everybody work at once.
	CPU *flowcontrol.CPU
	// Draining is closed when open watches must end, spread over the time that Spread returns. Nil never
	// drains.
	Draining <-chan struct{}
	Spread   func() time.Duration
	Metrics  *Metrics

	recheck  atomic.Int64 // time.Duration
	rechecks rechecks
	compress atomic.Bool
}

// Set must be called before the first watch. It changes the longest time between two checks of the access of a watch
// unless there are too many, for open watches from their next check on, and whether watches are compressed that are
// opened from now on.
func (s *Server) Set(recheck time.Duration, compress bool) {
	if s.rechecks.soon == nil {
		s.rechecks = newRechecks()
	}
	s.recheck.Store(int64(recheck))
	s.compress.Store(compress)
}

// Watch serves a watch until it ends, or returns why it passes.
func (s *Server) Watch(w http.ResponseWriter, r *http.Request, p *plan.Plan, a *fresh.Attempt) error {
	from, err := open(r.Context(), p, a)
	switch {
	case errors.Is(err, outcome.Pass(resources.NotInSync)) && p.Discarded(r.Context(), s.Resources): // it has ended meanwhile
		return outcome.ErrDiscarded
	case errors.Is(err, outcome.VersionBeforeHistory) && p.OnlyHere():
		writeExpired(w, p, a)
	case err == nil:
		s.newWatch(w, r, a, from).run()
	default:
		return err
	}
	return nil
}

// watch is one open watch.
type watch struct {
	server         *Server
	r              *http.Request
	plan           *plan.Plan
	from           *source
	to             *stream
	ending         *ending
	columnsChanged <-chan struct{}
	metrics        counters
	began          time.Time
}

func (s *Server) newWatch(w http.ResponseWriter, r *http.Request, a *fresh.Attempt, from *source) *watch {
	p := from.plan
	head := fresh.Head{
		Attempt: a, Plan: p, Reason: from.reason, Version: from.version(), Pending: from.initialEventsEnd == unproven,
	}
	coding, examined := s.coding(r, p), p.Examined(from.state)
	out := body.New(w, head, s.CPU.Work(r.Context(), p.Info.Waits(), examined), coding, encode.Growth*examined)
	l := &watch{
		server: s, r: r, plan: p, from: from, to: &stream{Body: out, plan: p, coding: coding, encoded: s.Encoded},
		metrics: s.Metrics.of(p.Info), began: time.Now(),
	}
	if p.Format.Format().Shape == codec.Table { // its first event has the columns, which cannot be sent again
		l.columnsChanged = p.Resource.ColumnsChanged()
	}
	l.ending = s.newEnding(r, p, l.to.Client)
	l.to.Hold, _ = p.Info.Account.TakeUntil(0, func() { l.ending.recheck.end(errTooSlow) })
	return l
}

// coding returns the content coding of a watch. A streaming list is compressed if the apiserver compresses it (wire.md
// 8), and with an older apiserver if it is long, as a list is. Other watches are compressed only with CompressWatches.
func (s *Server) coding(r *http.Request, p *plan.Plan) splice.Coding {
	compressed := s.compress.Load()
	if !compressed && p.StreamingList() {
		compressed = p.Resource.CompressesStreamingLists || p.Estimate().Bytes >= encode.BlocksPay
	}
	if compressed {
		return response.Accepted(r.Header)
	}
	return splice.Identity
}

// run writes the watch until it has to end. The client needs no event for that: it resumes from the last version that
// it was sent.
func (l *watch) run() {
	from, to, ctx := l.from, l.to, l.r.Context()
	var err error
	defer func() { l.end(err) }()
	l.metrics.watchers.Inc()
	from.awaitProof(ctx)
	err = l.begin()
	for err == nil {
		ready := from.cursor.Ready() // before deliver reads, so that no event is missed
		l.ending.boundRest(l.plan.Resource.Store)
		var more bool
		if more, err = l.deliver(); err == nil {
			err = l.endInitialEvents()
		}
		if err != nil {
			return
		}
		from.reached.Store(from.delivered)
		if more {
			ready = closed // a watch that lags must still notice everything else
		} else {
			from.restartProof(ctx)
			to.Work.Rest()
		}
		select { // a quiet watch is here all the time: each of thousands holds the stack up to here
		case <-ready:
		case proof := <-from.proof:
			err = from.proven(ctx, proof)
		case <-l.columnsChanged:
			err = ended(request.StoreRebuilt)
		case <-l.ending.draining:
			l.ending.draining = nil
			l.ending.timer.endWithin(l.server.Spread())
		case <-l.ending.wake:
			err = l.attend()
		}
	}
}

// closed is a closed channel.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// begin sends the headers and the initial events.
func (l *watch) begin() error {
	from, to, info := l.from, l.to, l.plan.Info
	if err := to.Start(true); err != nil {
		return err
	}
	info.Watch.Follow(from.lag) // which is known by its header
	if err := to.Flush(); err != nil {
		return err
	}
	if from.state == nil {
		to.lastSent = from.delivered
		return nil
	}
	if err := to.initialEvents(from.state, l.ending); err != nil {
		return err
	}
	info.Listed = l.plan.Estimate().Bytes
	from.delivered, to.lastSent = from.state.Version, from.state.Version
	from.state = nil // frees the snapshot
	to.Work.Rest()
	if err := l.endInitialEvents(); err != nil {
		return err
	}
	if err := to.Flush(); err != nil {
		return err
	}
	return to.Rest()
}

// deliver writes the next events and flushes once. It reports whether more can be read already.
func (l *watch) deliver() (more bool, err error) {
	from, to := l.from, l.to
	if err := to.Work.Next(); err != nil {
		return false, err
	}
	var events [batch]*cache.Event
	n, version, err := from.cursor.Next(events[:])
	if err != nil {
		return false, err
	}
	written, arrived := 0, time.Time{}
	for i, e := range events[:n] {
		events[i] = nil
		t, selected := e.TypeFor(l.plan.Selection.Filter)
		if !selected {
			to.Work.Add(e.Size())
			continue
		}
		if l.ending.told() {
			return false, errToldToEnd
		}
		sent, err := to.event(e, t)
		if err != nil {
			return false, err
		}
		if !sent {
			to.Work.Add(2 * e.Size()) // both versions were encoded
			continue
		}
		if written++; written == 1 {
			arrived = e.At
		}
		if to.Client.WasBlocked() && i+1 < n { // read the rest again, or find it gone, rather than hold it
			from.cursor.Rewind(e)
			clear(events[i+1 : n])
			n, version = i+1, e.RV
			more = true
			break
		}
	}
	from.delivered = max(from.delivered, version)
	more = more || n == len(events) || version < l.plan.Resource.Store.Streamed() // archived events come in small pieces
	if written == 0 {
		return more, nil
	}
	l.metrics.events.Add(float64(written))
	l.plan.Info.Events += int64(written)
	if err := to.Flush(); err != nil {
		return false, err
	}
	if arrived.Before(l.began) {
		arrived = l.began
	}
	l.metrics.waits.Observe(time.Since(arrived).Seconds())
	return more, nil
}

// endInitialEvents writes the bookmark that ends the initial events once everything up to a version that is proven
// recent has been delivered. The deprecated paths have no such bookmark, nor has a watch that did not ask for initial events at
// an apiserver without streaming lists.
func (l *watch) endInitialEvents() error {
	from, to := l.from, l.to
	if from.initialEventsEnd == 0 || !from.initialEventsProven() {
		return nil
	}
	from.initialEventsEnd, from.inventory = 0, nil
	// A deletion that has been sent may be above the version up to which everything has been delivered.
	from.delivered = max(from.delivered, to.lastSent)
	if l.plan.Info.LegacyWatchPath || l.plan.Options.SendInitialEvents == nil && !l.plan.Resource.StreamingLists {
		to.lastSent = from.delivered
		return nil
	}
	return to.bookmark(from.delivered, true)
}

// bookmark writes a bookmark at the version up to which everything has been delivered, unless the client has that
// version already or the initial events have not ended.
func (l *watch) bookmark() error {
	if l.from.initialEventsEnd != 0 {
		return nil
	}
	version, err := l.from.cursor.CaughtUpVersion()
	switch {
	case errors.Is(err, cache.ErrPending):
		return nil
	case err != nil:
		return err
	case version <= l.to.lastSent:
		return nil
	}
	return l.to.bookmark(version, false)
}

// attend takes the actions that are due, other than events and drains.
func (l *watch) attend() error {
	timer, now := l.ending.timer, time.Now()
	switch {
	case l.r.Context().Err() != nil:
		return ended(request.ClientClosed)
	case l.ending.told():
		return errToldToEnd
	case due(&timer.end, now):
		if timer.drained {
			_ = l.bookmark() // so that the client resumes from here; the watch ends anyway
			return ended(request.Drained)
		}
		return ended(request.Timeout)
	case due(&timer.bookmark, now):
		before := l.to.lastSent
		if err := l.bookmark(); err != nil {
			return err
		}
		timer.scheduleBookmark(now, l.to.lastSent > before || !l.plan.Options.AllowBookmarks)
	}
	timer.reset()
	return nil
}

// end says why the watch ends, ends its stream and the goroutines beside it, and releases its memory.
func (l *watch) end(err error) {
	how, status := l.ending.of(err)
	l.plan.LeftAt(l.to.lastSent) // before the error, which may never arrive: a client that has it may list again at once
	if status != nil {
		l.to.error(status)
	}
	l.to.End()
	l.from.stopProof()
	if l.to.Hold.Revoked() {
		l.plan.Info.Outcome.Reason = limits.TooMuch
	}
	l.ending.stop()
	l.to.Work.Rest()
	l.metrics.watchers.Dec()
	l.plan.Info.Watch.Follow(nil)
	l.from.cursor.Close()
	l.plan.Info.Outcome.End = how
}
