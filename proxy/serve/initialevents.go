package serve

import (
	"cmp"

	"sluice/cache"
	"sluice/codec/splice"
)

// writeInitialEvents writes an ADDED event for every selected object of the state, or if one cannot be
// written, for every object before it.
func (l *watchLoop) writeInitialEvents() error {
	err := l.encodeInitialEvents()
	return cmp.Or(err, l.spill())
}

// encodeInitialEvents gathers or writes the initial events. A watch of a whole range of keys writes
// the memoized events of its segments.
func (l *watchLoop) encodeInitialEvents() error {
	s := &l.plan.selection
	if s.filter != nil || !l.plan.encoder.Shareable() {
		for o := range s.objects(l.state) {
			if l.recheck.denied.Load() != nil {
				return errRevoked
			}
			if err := l.gather(o); err != nil {
				return err
			}
		}
		return nil
	}
	e := &segmentEncoder{encoder: l.plan.encoder, events: true, budget: l.options.Encoded}
	for run := range boundRuns(l.state.Runs(s.keys)) {
		if l.recheck.denied.Load() != nil {
			return errRevoked
		}
		if err := l.writeRun(e, run); err != nil {
			return err
		}
	}
	return nil
}

func (l *watchLoop) writeRun(e *segmentEncoder, run cache.Run) error {
	if l.out.coding != splice.Identity {
		b, err := e.block(l.out.coding, run)
		if err != nil {
			return err
		}
		return l.out.block(b)
	}
	if !e.shares(run) {
		return forEach(run.Objects(), l.gather)
	}
	text, err := e.text(run)
	if err != nil {
		return err
	}
	if err := l.spill(); err != nil {
		return err
	}
	return l.out.write(text)
}

// gather appends the event of an object to buf, and writes buf once it is as long as a piece.
func (l *watchLoop) gather(o *cache.Object) error {
	var err error
	if l.buf, err = l.appendEvent(l.buf, cache.Added, o); err != nil || len(l.buf) < pieceSize {
		return err
	}
	return l.spill()
}

// spill writes buf.
func (l *watchLoop) spill() error {
	text := l.buf
	l.buf = l.buf[:0]
	if len(text) == 0 {
		return nil
	}
	return l.out.write(text)
}
