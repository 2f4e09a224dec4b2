package watch

import (
	"cmp"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec/splice"
	"sluice/proxy/serve/encode"
)

// writeInitialEvents writes an ADDED event for every selected object of the state, or if one cannot be
// written, for every object before it.
func (l *loop) writeInitialEvents() error {
	err := l.encodeInitialEvents()
	return cmp.Or(err, l.spill())
}

// encodeInitialEvents gathers or writes the initial events, memoized ones by runs.
func (l *loop) encodeInitialEvents() error {
	s := &l.plan.Selection
	if err := l.out.work.Next(); err != nil { // before the first object is looked for
		return err
	}
	e := encode.NewSegments(l.plan.Format, l.server.Encoded, s.Filter != nil, true)
	for run := range s.Runs(l.state, l.server.Encoded) {
		if err := l.out.work.Next(); err != nil {
			return err
		}
		if l.recheck.denied.Load() != nil {
			return errToldToEnd
		}
		if run.Set == 0 {
			continue
		}
		if err := l.writeRun(e, run); err != nil {
			return err
		}
	}
	return nil
}

// writeRun writes the events of a run, or gathers them. The first event of a watch of Tables is
// unlike those that are memoized.
func (l *loop) writeRun(e *encode.Segments, run tree.Run) error {
	compressed := l.out.coding != splice.Identity
	switch pays := e.Pays(run); {
	case l.first() || !pays:
		return l.gatherAll(run.Objects())
	case compressed && e.MemoizesBlock(run):
		b, err := e.Block(l.out.coding, run)
		if err == nil {
			err = l.spill()
		}
		if err != nil {
			return err
		}
		return l.out.block(b)
	case compressed || !e.MemoizesText(run):
		return l.gatherAll(run.Objects())
	}
	parts, err := e.Parts(run)
	if err != nil {
		return err
	}
	for part := range parts {
		if err := l.add(part); err != nil {
			return err
		}
	}
	return nil
}

// add writes text after the gathered texts, without copying it if it is long.
func (l *loop) add(text []byte) error {
	if len(l.buf)+len(text) <= encode.PieceSize {
		l.buf = append(l.buf, text...)
		return nil
	}
	if err := l.spill(); err != nil {
		return err
	}
	return l.out.write(text)
}

func (l *loop) gatherAll(objects []*tree.Object) error {
	for _, o := range objects {
		if err := l.gather(o); err != nil {
			return err
		}
	}
	return nil
}

// gather appends the event of an object to buf, and writes buf once it is as long as a piece.
func (l *loop) gather(o *tree.Object) error {
	var err error
	if l.buf, err = l.appendEvent(l.buf, cache.Added, o); err != nil {
		return err
	}
	if err := l.count(); err != nil || len(l.buf) < encode.PieceSize {
		return err
	}
	return l.spill()
}

// count counts the buffers. The error is an *limits.Refused.
func (l *loop) count() error { return l.claim(int64(cap(l.buf) + cap(l.out.scratch))) }

// claim counts so many bytes, for a text that has yet to be made, until the buffers are counted. The error is an
// *limits.Refused.
func (l *loop) claim(bytes int64) error {
	if bytes == l.counted {
		return nil
	}
	err := l.hold.Resize(bytes)
	if err == nil {
		l.counted = bytes
	}
	return err
}

// spill writes buf.
func (l *loop) spill() error {
	text := l.buf
	l.buf = l.buf[:0]
	if len(text) == 0 {
		return nil
	}
	return l.out.write(text)
}
