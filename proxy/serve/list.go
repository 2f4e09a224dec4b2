package serve

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/codec"
)

// list answers a list, or returns why it cannot.
func (s *Reads) list(w http.ResponseWriter, r *http.Request, p *plan) string {
	state, how, reason := p.state(r.Context())
	if reason != "" {
		return reason
	}
	l := newListing(p, state)
	size, err := l.itemsSize()
	if err != nil {
		return reasonFormat
	}
	p.begin(w.Header(), how)
	out := newBody(w, r)
	defer out.release()
	if err := l.write(out, size); err != nil {
		panic(http.ErrAbortHandler) // the client must not take what it got for a list
	}
	return ""
}

// state returns the state that the list is to show (wire.md 4.3, 4.4).
func (p *plan) state(ctx context.Context) (state *cache.Snapshot, how, reason string) {
	store, o := p.collection.Store, &p.options
	switch {
	case p.page != nil:
		return p.past(ctx, p.page.version)
	case o.ResourceVersion == "0":
		return store.Snapshot(), servedAny, ""
	case p.version == 0:
		how, reason = p.freshen(ctx, 0, true)
	case o.ResourceVersionMatch == "Exact", o.ResourceVersionMatch == "" && o.Limit > 0:
		return p.past(ctx, p.version)
	case store.Snapshot().Version >= p.version:
		return store.Snapshot(), servedAny, ""
	default:
		how, reason = p.freshen(ctx, p.version, true)
	}
	return store.Snapshot(), how, reason
}

// past returns the state at exactly that version.
func (p *plan) past(ctx context.Context, version uint64) (state *cache.Snapshot, how, reason string) {
	if _, reason := p.freshen(ctx, version, true); reason != "" {
		return nil, "", reason
	}
	state, err := p.collection.Store.At(version)
	if errors.Is(err, cache.ErrGone) {
		return nil, "", reasonHistory
	}
	return state, servedPast, ""
}

// listing is one list on its way out.
type listing struct {
	encoder *codec.Writer
	objects iter.Seq[*cache.Object]
	n       int
	meta    codec.ListMeta
}

func newListing(p *plan, state *cache.Snapshot) *listing {
	l := &listing{
		encoder: p.encoder.At(time.Now()),
		meta:    codec.ListMeta{ResourceVersion: strconv.FormatUint(state.Version, 10)},
	}
	sel := p.selection
	if p.page != nil {
		sel.keys.From = max(sel.keys.From, p.page.start)
	}
	if p.options.Limit == 0 && sel.filter == nil {
		l.objects, l.n = sel.objects(state), state.Count(sel.keys)
		return l
	}
	chosen := l.choose(p, sel, state)
	l.objects, l.n = func(yield func(*cache.Object) bool) {
		for _, o := range chosen {
			if !yield(o) {
				return
			}
		}
	}, len(chosen)
	return l
}

// choose gathers the objects of a page or selection. A page that is not the
// last tells where the next begins: that depends on whether keys remain, not
// on whether they match (wire.md 4.5).
func (l *listing) choose(p *plan, sel selection, state *cache.Snapshot) []*cache.Object {
	limit := int(p.options.Limit)
	var chosen []*cache.Object
	for o := range sel.objects(state) {
		chosen = append(chosen, o)
		if len(chosen) == limit {
			break
		}
	}
	if limit == 0 || len(chosen) < limit {
		return chosen
	}
	last := chosen[len(chosen)-1].Key
	rest := cache.Range{From: last + "\x00", To: sel.keys.To}
	remaining := int64(state.Count(rest))
	if remaining == 0 {
		return chosen
	}
	l.meta.Continue = next(state.Version, last, p.namespace)
	if sel.filter == nil {
		l.meta.Remaining = &remaining
	}
	return chosen
}

// itemsSize returns the length of all items, if the encoding's head must tell
// it.
func (l *listing) itemsSize() (int, error) {
	if l.encoder.Format().Encoding != codec.Protobuf {
		return 0, nil
	}
	size := 0
	var scratch []byte
	for o := range l.objects {
		n, ok := l.encoder.ItemSize(o.Data)
		if !ok {
			item, err := l.encoder.AppendItem(scratch[:0], o.Data)
			if err != nil {
				return 0, err
			}
			n, scratch = len(item), item
		}
		size += n
	}
	return size, nil
}

// write writes the list item by item.
func (l *listing) write(out *body, size int) error {
	out.buf = l.encoder.AppendListHead(out.buf, l.meta, l.n, size)
	separator := ""
	for o := range l.objects {
		out.buf = append(out.buf, separator...)
		separator = l.encoder.Separator()
		var err error
		if out.buf, err = l.encoder.AppendItem(out.buf, o.Data); err != nil {
			return err
		}
		if err := out.spill(); err != nil {
			return err
		}
	}
	out.buf = l.encoder.AppendListTail(out.buf, l.meta, l.n)
	return out.finish()
}
