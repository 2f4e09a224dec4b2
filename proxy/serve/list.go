package serve

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/cache"
	"sluice/codec"
	"sluice/proxy/request"
)

// list answers a list, or returns why it cannot.
func (s *Handler) list(w http.ResponseWriter, r *http.Request, p *plan) string {
	state, how, reason := p.state(r.Context())
	if reason != "" {
		return reason
	}
	if p.tag = s.tag(r, p, state.Version); p.unchanged(w, r, how) {
		return ""
	}
	l := s.newListing(p, state)
	size, err := l.itemsSize()
	if err != nil {
		return reasonFormat
	}
	out := newBody(w, r)
	defer out.release()
	p.begin(w.Header(), how)
	spliced, err := l.splice(out, size)
	if !spliced && err == nil {
		err = l.write(out, size)
	}
	switch {
	case err != nil && !out.begun: // an object that cannot be written
		clear(w.Header())
		p.info.Outcome = request.Outcome{}
		return reasonFormat
	case err != nil:
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

// listing is one list on its way out: of runs if it holds all keys of a range,
// else of objects that were chosen.
type listing struct {
	encoded
	encoder *codec.Writer // as of now
	meta    metav1.ListMeta
	runs    iter.Seq[cache.Run]
	objects []*cache.Object
	n       int
	bytes   int64 // of the stored objects
}

func (s *Handler) newListing(p *plan, state *cache.Snapshot) *listing {
	l := &listing{
		encoder: p.encoder.At(time.Now()),
		meta:    metav1.ListMeta{ResourceVersion: strconv.FormatUint(state.Version, 10), ShardInfo: p.selection.shardInfo()},
	}
	l.encoded = s.items(p.encoder, l.encoder)
	sel := p.selection
	if p.page != nil {
		sel.keys.From = max(sel.keys.From, p.page.start)
	}
	if p.options.Limit == 0 && sel.filter == nil {
		l.runs, l.n, l.bytes = state.Runs(sel.keys), state.Count(sel.keys), stored(state, sel.keys)
		return l
	}
	l.choose(p, sel, state)
	return l
}

// stored is about how many bytes are stored of the objects in a range.
func stored(state *cache.Snapshot, keys cache.Range) int64 {
	return state.Bytes() * int64(state.Count(keys)) / int64(max(state.Len(), 1))
}

// choose gathers the objects of a page or selection. A page that is not the
// last tells where the next begins: that depends on whether keys remain, not
// on whether they match (wire.md 4.5).
func (l *listing) choose(p *plan, sel selection, state *cache.Snapshot) {
	limit := int(p.options.Limit)
	for o := range sel.objects(state) {
		l.objects = append(l.objects, o)
		if len(l.objects) == limit {
			break
		}
	}
	l.n = len(l.objects)
	if limit == 0 || l.n < limit {
		return
	}
	last := l.objects[l.n-1].Key
	remaining := int64(state.Count(cache.Range{From: last + "\x00", To: sel.keys.To}))
	if remaining == 0 {
		return
	}
	l.meta.Continue = next(state.Version, last, p.namespace)
	if sel.filter == nil {
		l.meta.RemainingItemCount = &remaining
	}
}

// each calls do with every object.
func (l *listing) each(do func(*cache.Object) error) error {
	if l.runs == nil {
		return forAll(l.objects, do)
	}
	for run := range l.runs {
		if err := forAll(run.Objects(), do); err != nil {
			return err
		}
	}
	return nil
}

func forAll(objects []*cache.Object, do func(*cache.Object) error) error {
	for _, o := range objects {
		if err := do(o); err != nil {
			return err
		}
	}
	return nil
}

// itemsSize returns the length of all items, if the encoding's head must tell
// it.
func (l *listing) itemsSize() (size int, err error) {
	if l.encoder.Format().Encoding != codec.Protobuf {
		return 0, nil
	}
	var scratch []byte
	err = l.each(func(o *cache.Object) error {
		n, ok := l.encoder.ItemSize(o.Data)
		if !ok {
			item, err := l.encoder.AppendItem(scratch[:0], o.Data)
			if err != nil {
				return err
			}
			n, scratch = len(item), item
		}
		size += n
		return nil
	})
	return size, err
}

// write writes the list uncompressed, or compressed as it is written.
func (l *listing) write(out *body, size int) error {
	out.buf = l.encoder.AppendListHead(out.buf, l.meta, l.n, size)
	w := itemWriter{listing: l, out: out}
	if err := w.all(); err != nil {
		return err
	}
	out.buf = l.encoder.AppendListTail(out.buf, l.meta, l.n)
	return out.finish()
}

// itemWriter writes the items of a list with what separates them.
type itemWriter struct {
	*listing
	out       *body
	separator string // before the next item; none before the first
}

func (w *itemWriter) all() error {
	if w.runs == nil {
		return forAll(w.objects, w.object)
	}
	for run := range w.runs {
		if err := w.run(run); err != nil {
			return err
		}
	}
	return nil
}

func (w *itemWriter) run(r cache.Run) error {
	if !w.shared(r) {
		return forAll(r.Objects(), w.object)
	}
	text, err := w.plain(r)
	if err != nil {
		return err
	}
	w.separate()
	return w.out.add(text)
}

func (w *itemWriter) object(o *cache.Object) error {
	w.out.room()
	w.separate()
	var err error
	if w.out.buf, err = w.encoder.AppendItem(w.out.buf, o.Data); err != nil {
		return err
	}
	return w.out.spill()
}

func (w *itemWriter) separate() {
	w.out.buf = append(w.out.buf, w.separator...)
	w.separator = w.encoder.Separator()
}
