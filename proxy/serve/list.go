package serve

import (
	"net/http"
	"strconv"

	"sluice/cache"
	"sluice/codec"
	"sluice/proxy/reply"
	"sluice/proxy/request"
)

// list answers with the newest state, or returns why it cannot.
func (s *Reads) list(w http.ResponseWriter, r *http.Request, p *plan) string {
	info := request.From(r.Context())
	state := p.collection.Store.Snapshot()
	if p.version > state.Version {
		return reasonAhead
	}
	l := &listing{
		plan:  p,
		state: state,
		scope: cache.Namespace(info.Namespace),
		meta:  codec.ListMeta{ResourceVersion: strconv.FormatUint(state.Version, 10)},
	}
	size, err := l.itemsSize()
	if err != nil {
		return reasonFormat
	}
	info.Outcome = request.Outcome{Source: request.FromCache, Format: p.encoder.Format().Encoding.String()}
	h := w.Header()
	reply.Headers(h, info)
	h["Warning"] = p.collection.Warnings
	h.Set("Content-Type", p.encoder.ContentType(false))
	out := newBody(w, r)
	defer out.release()
	if err := l.write(out, size); err != nil {
		panic(http.ErrAbortHandler) // the client must not take what it got for a list
	}
	return ""
}

// listing is one list on its way out.
type listing struct {
	*plan
	state *cache.Snapshot
	scope cache.Range
	meta  codec.ListMeta
}

// itemsSize returns the length of all items, if the encoding's head must tell
// it: that costs a pass over them.
func (l *listing) itemsSize() (int, error) {
	if l.encoder.Format().Encoding != codec.Protobuf {
		return 0, nil
	}
	size := 0
	var scratch []byte
	for o := range l.state.Objects(l.scope) {
		item, err := l.encoder.AppendItem(scratch[:0], o.Data)
		if err != nil {
			return 0, err
		}
		size += len(item)
		scratch = item
	}
	return size, nil
}

// write writes the list item by item.
func (l *listing) write(out *body, size int) error {
	n := l.state.Count(l.scope)
	out.buf = l.encoder.AppendListHead(out.buf, l.meta, n, size)
	separator := ""
	for o := range l.state.Objects(l.scope) {
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
	out.buf = l.encoder.AppendListTail(out.buf, l.meta, n)
	return out.finish()
}
