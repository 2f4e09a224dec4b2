package serve

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/codec/splice"
)

// batch is the most events that are written before a flush.
const batch = 128

// stream is one open watch.
type stream struct {
	reads   *Handler
	r       *http.Request
	out     *outlet
	metrics watcherMetrics

	encoder   *Encoder
	store     *cache.Store
	fence     *cache.Fence
	selection selection
	coding    splice.Coding
	state     *cache.Snapshot // what the watch begins with; nil for none
	cursor    *cache.Cursor
	outdated  <-chan struct{} // closed when the client has been told columns that are no more
	bookmarks bool
	unmarked  bool // the end of the state is not marked by a bookmark
	unproven  bool // the state has still to be proven recent

	begun bool   // something has been written
	sent  uint64 // version up to which the client has been given everything
	told  uint64 // version that the client knows of: of an event or bookmark
	owed  uint64 // version from which the bookmark that ends the state is due; 0 for none
	buf   []byte // what is the stream's own: bookmarks, selected states
}

// run writes the watch until it has to end. Ending it needs no word to the
// client: it comes back with the last version it was told.
func (t *stream) run(timeout time.Duration) {
	if timeout == 0 {
		timeout = shortestLife + rand.N(shortestLife)
	}
	c := newClock(timeout, t.reads.options.Recheck)
	defer c.stop()
	proof, settle := t.prove()
	defer settle()
	defer t.out.end()
	if err := t.begin(); err != nil {
		return
	}
	checks := &checks{access: t.reads.options.Access, r: t.r}
	defer checks.end()
	events := make([]*cache.Event, batch)
	draining := t.reads.options.Draining
	for {
		bell := t.cursor.Ready()
		more, err := t.advance(events)
		if err != nil || t.settle() != nil {
			return
		}
		if more {
			bell = ready // one that lags must see the other events too
		}
		select {
		case <-bell:
		case t.owed = <-proof:
			proof = nil
		case <-t.outdated:
			return
		case <-t.r.Context().Done():
			return
		case <-draining:
			draining = nil
			c.endWithin(t.reads.options.Grace)
		case v := <-checks.verdict:
			checks.verdict = nil
			if !c.allowed(v.holds, v.err) {
				return
			}
		case <-c.timer.C:
			if !t.onTime(c, checks) {
				return
			}
		}
	}
}

// onTime does what is due, and reports whether the watch goes on.
func (t *stream) onTime(c *clock, checks *checks) bool {
	now := time.Now()
	if due(&c.end, now) {
		if c.drained {
			_ = t.tell() // so that the client resumes from here
		}
		return false
	}
	if due(&c.recheck, now) {
		checks.begin()
	}
	if due(&c.bookmark, now) {
		before := t.told
		if t.tell() != nil {
			return false
		}
		c.nextBookmark(now, t.told > before || !t.bookmarks)
	}
	c.set()
	return true
}

// ready is a bell that rings all the time.
var ready = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// prove finds out, while the state goes out, from which version on it is
// recent. The channel it returns delivers that version once the store has
// reached it; the function ends the search and waits for that.
func (t *stream) prove() (<-chan uint64, func()) {
	if !t.unproven {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(t.r.Context())
	proof, ended := make(chan uint64, 1), make(chan struct{})
	go func() {
		defer close(ended)
		if version, err := t.fence.WaitUntilCurrent(ctx); err == nil {
			proof <- version
		}
	}()
	return proof, func() { cancel(); <-ended }
}

// begin sends the headers, and the state if the watch starts with it.
func (t *stream) begin() error {
	if err := t.out.begin(t.coding); err != nil {
		return err
	}
	if t.state == nil {
		t.told = t.sent
		return nil
	}
	if err := t.writeState(); err != nil {
		return err
	}
	t.sent, t.buf, t.out.scratch = t.state.Version, nil, nil
	if !t.unproven {
		t.owed = t.state.Version
	}
	t.state = nil // the snapshot may go
	if err := t.settle(); err != nil {
		return err
	}
	return t.out.flush()
}

// writeState tells what there is: by runs, encoded once for all, if the watch is
// of all objects in a range.
func (t *stream) writeState() error {
	if t.selection.filter == nil && t.encoder.Shareable() {
		return t.writeRuns()
	}
	for o := range t.selection.objects(t.state) {
		if err := t.gather(o); err != nil {
			return err
		}
	}
	return t.spill()
}

func (t *stream) writeRuns() error {
	events := t.reads.events(t.encoder)
	for run := range bounded(t.state.Runs(t.selection.keys)) {
		if err := t.writeRun(&events, run); err != nil {
			return err
		}
	}
	return t.spill()
}

func (t *stream) writeRun(events *encoded, run cache.Run) error {
	switch {
	case t.out.coding != splice.Identity:
		b, err := events.block(t.out.coding, run)
		if err != nil {
			return err
		}
		return t.out.block(b)
	case events.shared(run):
		text, err := events.plain(run)
		if err == nil {
			err = t.spill()
		}
		if err != nil {
			return err
		}
		return t.out.write(text)
	}
	return forAll(run.Objects(), t.gather)
}

// gather puts off the writing of an object's event until there is enough.
func (t *stream) gather(o *cache.Object) error {
	var err error
	if t.buf, err = t.append(t.buf, cache.Added, o); err != nil || len(t.buf) < pieceSize {
		return err
	}
	return t.spill()
}

func (t *stream) spill() error {
	text := t.buf
	t.buf = t.buf[:0]
	if len(text) == 0 {
		return nil
	}
	return t.out.write(text)
}

// settle sends the bookmark that ends the state, once it is due: everything up
// to a version that is proven to be recent has been sent.
func (t *stream) settle() error {
	if t.owed == 0 || t.sent < t.owed {
		return nil
	}
	t.owed, t.unproven = 0, false
	if t.unmarked {
		t.told = t.sent
		return nil
	}
	if err := t.mark(t.sent, true); err != nil {
		return err
	}
	return t.out.flush()
}

// advance writes the events that have come, and reports whether there may be
// more already. What it writes is flushed once.
func (t *stream) advance(events []*cache.Event) (more bool, err error) {
	n, version, err := t.cursor.Next(events)
	if err != nil {
		return false, err
	}
	written := 0
	for i, e := range events[:n] {
		events[i] = nil
		typ, concerns := e.TypeFor(t.selection.filter)
		if !concerns {
			continue
		}
		if err := t.event(e, typ); err != nil {
			return false, err
		}
		t.told = e.RV
		written++
	}
	t.sent = max(t.sent, version)
	if written == 0 {
		return n == len(events), nil
	}
	t.metrics.sent(written)
	return n == len(events), t.out.flush()
}

// append appends an event of the stream's own.
func (t *stream) append(dst []byte, typ cache.Type, o *cache.Object) ([]byte, error) {
	if t.begun || t.encoder.Shareable() {
		return t.encoder.AppendEvent(dst, typ, o)
	}
	t.begun = true
	return t.encoder.AppendFirst(dst, typ, o)
}

// event writes an event as all watchers share it or, in formats that tell
// ages, as its own.
func (t *stream) event(e *cache.Event, typ cache.Type) error {
	if t.encoder.Shareable() {
		return t.out.frame(e, typ, t.encoder)
	}
	o := e.Object
	var err error
	if typ == cache.Deleted && e.Type != cache.Deleted {
		if o, err = t.encoder.DeletedFromSelection(e.Previous, e.RV); err != nil {
			return err
		}
	}
	if t.buf, err = t.append(t.buf[:0], typ, o); err != nil {
		return err
	}
	return t.out.write(t.buf)
}

// tell writes a bookmark of the version up to which the client has been sent
// everything, unless it knows that version or has still to be told that the
// state has ended.
func (t *stream) tell() error {
	if t.unproven || t.owed != 0 {
		return nil
	}
	version, err := t.cursor.CaughtUpVersion()
	if err != nil {
		if errors.Is(err, cache.ErrPending) {
			return nil
		}
		return err
	}
	if version <= t.told {
		return nil
	}
	if err := t.mark(version, false); err != nil {
		return err
	}
	return t.out.flush()
}

func (t *stream) mark(version uint64, endOfState bool) error {
	if !t.bookmarks {
		return nil
	}
	var err error
	t.buf, err = t.encoder.AppendBookmark(t.buf[:0], strconv.FormatUint(version, 10), endOfState, !t.begun)
	if err != nil {
		return err
	}
	t.begun = true
	t.told = version
	return t.out.write(t.buf)
}
