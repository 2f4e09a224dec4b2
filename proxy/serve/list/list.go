package list

import (
	"context"
	"net/http"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// Server answers lists and gets from the cache.
type Server struct {
	// Encoded bounds the memory of encoded and compressed segments; nil keeps none.
	Encoded *tree.Budget
	// CPU shares the processors among users; nil lets everybody work at once.
	CPU *flowcontrol.CPU
}

// List answers a list, or returns why it passes.
func (s *Server) List(w http.ResponseWriter, r *http.Request, p *plan.Plan, a *fresh.Attempt) error {
	state, reason, err := snapshot(r.Context(), p, a)
	if err != nil {
		return err
	}
	work := s.CPU.Work(r.Context(), p.Info.Waits(), p.Examined(state))
	defer work.Rest()
	if err := work.Next(); err != nil {
		return err
	}
	l, err := newContents(p, state, work)
	if err != nil {
		return err
	}
	if p.Selection.Filter != nil && p.Selection.Indexed == nil && p.Options.Limit == 0 {
		p.Info.Scanned = int64(state.Count(p.Selection.Keys) - l.count)
	}
	e := encode.NewSegments(p.Format, s.Encoded, p.Selection.Filter != nil, false)
	out := newResponseWriter(w, r, work, encode.Growth*l.bytes, func(h http.Header) { a.Head(h, p, reason, state.Version) })
	defer out.release()
	out.track(p.Info)
	return out.outcome(p, l.write(out, e))
}

// snapshot returns the state that a list shows and why it is recent enough (wire.md 4.3, 4.4).
func snapshot(ctx context.Context, p *plan.Plan, a *fresh.Attempt) (*cache.Snapshot, outcome.Hit, error) {
	if p.Match == plan.MatchExact {
		state, err := fresh.StateAtExactly(ctx, p)
		return state, outcome.PastVersion, err
	}
	reason, err := a.EnsureFresh(ctx, p, true)
	if err != nil {
		return nil, "", err
	}
	return p.Resource.Store.Snapshot(), reason, nil
}

// write writes the list. Of a long one, compressed blocks are written as they are memoized.
func (l *contents) write(out *responseWriter, e *encode.Segments) error {
	size, err := l.itemsSize(e)
	if err != nil {
		return err
	}
	blocks := l.bytes >= encode.BlocksPay && out.accepted != splice.Identity && e.Format.Memoizable()
	written, err := l.writeItems(&itemsWriter{responseWriter: out, segments: e, blocks: blocks}, size)
	if !written && err == nil {
		_, err = l.writeItems(&itemsWriter{responseWriter: out, segments: e}, size)
	}
	return err
}

// itemsSize returns the length of all items in bytes if the head of the list contains it: in
// Protobuf.
func (l *contents) itemsSize(e *encode.Segments) (size int, err error) {
	if e.Format.Format().Encoding != codec.Protobuf {
		return 0, nil
	}
	var scratch []byte
	measure := func(o *tree.Object) error {
		n, ok := e.Format.ItemSize(o.Data)
		if !ok {
			item, err := e.AppendItem(scratch[:0], o)
			if err != nil {
				return err
			}
			n, scratch = len(item), item
		}
		size += n
		return nil
	}
	for r := range l.runs {
		for _, o := range r.Objects() {
			if err := measure(o); err != nil {
				return 0, err
			}
		}
	}
	return size, nil
}

// writeItems writes the head, the items and the tail. It reports false, with nothing written, if the list is too
// short for its blocks.
func (l *contents) writeItems(w *itemsWriter, size int) (bool, error) {
	w.buf = w.segments.Format.AppendListHead(w.buf, l.meta, l.count, size)
	for r := range l.runs {
		if err := w.run(r); err != nil {
			return false, err
		}
	}
	w.buf = w.segments.Format.AppendListTail(w.buf, l.meta, l.count)
	return w.finish()
}

// itemsWriter writes the items of a list, shared ones out of the memo.
type itemsWriter struct {
	*responseWriter
	segments  *encode.Segments
	blocks    bool   // compressed, where they are memoized
	separator string // before the next item
}

func (w *itemsWriter) separate() {
	w.buf = append(w.buf, w.separator...)
	w.separator = w.segments.Format.Separator()
}

// run writes the items of a run.
func (w *itemsWriter) run(r tree.Run) error {
	if err := w.work.Next(); err != nil {
		return err
	}
	switch pays := w.segments.Pays(r); {
	case pays && w.blocks && w.segments.MemoizesBlock(r):
		b, err := w.segments.Block(w.accepted, r)
		if err != nil {
			return err
		}
		w.separate()
		return w.addBlock(b)
	case pays && w.segments.MemoizesText(r):
		return w.shared(r)
	}
	for _, o := range r.Objects() {
		if err := w.item(o); err != nil {
			return err
		}
	}
	return nil
}

// shared writes the memoized text of a run.
func (w *itemsWriter) shared(r tree.Run) error {
	parts, err := w.segments.Parts(r)
	if err != nil {
		return err
	}
	w.separate()
	for part := range parts {
		if err := w.add(part); err != nil {
			return err
		}
	}
	return nil
}

// item writes an item that is not shared.
func (w *itemsWriter) item(o *tree.Object) error {
	if err := w.work.Next(); err != nil {
		return err
	}
	w.separate()
	if w.segments.Format.Verbatim() {
		return w.add(o.Data)
	}
	if err := w.reserve(); err != nil {
		return err
	}
	var err error
	w.buf, err = w.segments.AppendItem(w.buf, o)
	if err != nil {
		return err
	}
	if err := w.count(); err != nil {
		return err
	}
	return w.spill()
}
