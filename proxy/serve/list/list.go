package list

import (
	"net/http"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/response"
	"sluice/proxy/serve/body"
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
	var state *cache.Snapshot
	var err error
	reason := outcome.PastVersion
	if p.Match == plan.MatchExact { // wire.md 4.3, 4.4
		state, err = fresh.StateAtExactly(r.Context(), p)
	} else if reason, err = a.EnsureFresh(r.Context(), p, true); err == nil {
		state = p.Resource.Store.Snapshot()
	}
	if err != nil {
		return err
	}
	p.ShownAt(state.Version)
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
		all, _ := p.Selection.Count(state, p.Selection.Keys)
		p.Info.Scanned = int64(all - l.count)
	}
	head := fresh.Head{Attempt: a, Plan: p, Reason: reason, Version: state.Version}
	out := body.New(w, head, work, response.Accepted(r.Header), encode.Growth*l.bytes)
	defer out.Release()
	return out.Outcome(l.write(out, encode.NewSegments(p.Format, s.Encoded, p.Selection.Filter != nil, false)))
}

// write writes the list. Of a long one, compressed blocks are written as they are memoized.
func (l *contents) write(out *body.Body, e *encode.Segments) error {
	size, err := l.itemsSize(out.Work, e)
	if err != nil {
		return err
	}
	written, err := l.writeItems(&body.Items{Body: out, Segments: e, Blocks: l.bytes >= encode.BlocksPay}, size)
	if !written && err == nil {
		_, err = l.writeItems(&body.Items{Body: out, Segments: e}, size)
	}
	return err
}

// itemsSize returns the length of all items in bytes if the head of the list contains it: in
// Protobuf.
func (l *contents) itemsSize(work *flowcontrol.Work, e *encode.Segments) (size int, err error) {
	if e.Format.Format().Encoding != codec.Protobuf {
		return 0, nil
	}
	var scratch []byte
	for r := range l.runs {
		if err := work.Next(); err != nil {
			return 0, err
		}
		switch n, known, err := e.Size(r); {
		case err != nil:
			return 0, err
		case known:
			size += n
			continue
		}
		for _, o := range r.Objects() {
			n, ok := e.Format.ItemSize(o.Data)
			if !ok {
				if scratch, err = e.Append(scratch[:0], o, false); err != nil {
					return 0, err
				}
				n = len(scratch)
			}
			size += n
		}
	}
	return size, nil
}

// writeItems writes the head, the items and the tail. It reports false, with nothing written, if the list is too
// short for its blocks.
func (l *contents) writeItems(w *body.Items, size int) (bool, error) {
	w.Text = w.Segments.Format.AppendListHead(w.Text, l.meta, l.count, size)
	for r := range l.runs {
		if err := w.Run(r); err != nil {
			return false, err
		}
	}
	w.Text = w.Segments.Format.AppendListTail(w.Text, l.meta, l.count)
	return w.Finish()
}
