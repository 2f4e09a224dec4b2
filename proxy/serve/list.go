package serve

import (
	"net/http"
	"time"

	"sluice/cache"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/proxy/response"
)

// list answers a list, or returns why it passes.
func (h *Handler) list(w http.ResponseWriter, r *http.Request, p *plan) error {
	state, reason, err := p.snapshot(r.Context())
	if err != nil {
		return err
	}
	tag := h.etag(r, p, state.Version)
	if p.notModified(w, r, reason, tag) {
		return nil
	}
	l, err := p.newList(state)
	if err != nil {
		return unservedOptions
	}
	e := &segmentEncoder{encoder: p.encoder, writer: p.encoder.At(time.Now()), budget: h.options.Encoded}
	out := newResponseWriter(w, r, func(h http.Header) { p.writeHeaders(h, reason, tag) })
	defer out.release()
	err = l.write(out, e)
	if err != nil && !out.started {
		return unservedFormat // an object cannot be encoded
	}
	return err
}

// blocksPay is how many stored bytes a list must have to be written as memoized blocks. A shorter
// list is compressed while it is written, if it turns out to be long enough.
const blocksPay = response.CompressFrom / 4

// write writes the list: as compressed blocks if it is a long one of whole segments, else as text.
func (l *list) write(out *responseWriter, e *segmentEncoder) error {
	size, err := l.itemsSize(e)
	if err != nil {
		return err
	}
	if l.runs != nil && l.bytes >= blocksPay && out.accepted != splice.Identity && !e.writer.Format().AgesWithTime() {
		if written, err := l.writeBlocks(out, e, size); written || err != nil {
			return err
		}
	}
	return l.writeText(out, e, size)
}

// itemsSize returns the length of all items in bytes if the head of the list contains it: in
// Protobuf.
func (l *list) itemsSize(e *segmentEncoder) (size int, err error) {
	if e.writer.Format().Encoding != codec.Protobuf {
		return 0, nil
	}
	var scratch []byte
	measure := func(o *cache.Object) error {
		n, ok := e.writer.ItemSize(o.Data)
		if !ok {
			item, err := e.appendItem(scratch[:0], o)
			if err != nil {
				return err
			}
			n, scratch = len(item), item
		}
		size += n
		return nil
	}
	err = l.each(func(r cache.Run) error { return forEach(r.Objects(), measure) }, measure)
	return size, err
}

// each calls run with every run of the list, or object with every object if these were selected.
func (l *list) each(run func(cache.Run) error, object func(*cache.Object) error) error {
	if l.runs == nil {
		return forEach(l.objects, object)
	}
	for r := range l.runs {
		if err := run(r); err != nil {
			return err
		}
	}
	return nil
}

func forEach(objects []*cache.Object, do func(*cache.Object) error) error {
	for _, o := range objects {
		if err := do(o); err != nil {
			return err
		}
	}
	return nil
}

// writeBlocks writes the list as a stream of compressed blocks, those of whole segments out of the
// memo. It reports false, with nothing written, if the list is too short to be compressed.
func (l *list) writeBlocks(out *responseWriter, e *segmentEncoder, size int) (bool, error) {
	coding := out.accepted
	stored := func(text []byte) error { // for text that is too short to gain by compression
		b := coding.Store(nil, text)
		return out.addBlock(&b)
	}
	out.startBlocks()
	if err := stored(e.writer.AppendListHead(nil, l.meta, l.count, size)); err != nil {
		return false, err
	}
	separator, first := coding.Store(nil, []byte(e.writer.Separator())), true
	for run := range boundRuns(l.runs) {
		block, err := e.block(coding, run)
		if err == nil && !first {
			err = out.addBlock(&separator)
		}
		if err == nil {
			err = out.addBlock(block)
		}
		if err != nil {
			return false, err
		}
		first = false
	}
	if err := stored(e.writer.AppendListTail(nil, l.meta, l.count)); err != nil {
		return false, err
	}
	return out.finishBlocks()
}

// writeText writes the list as text, that of whole segments out of the memo.
func (l *list) writeText(out *responseWriter, e *segmentEncoder, size int) error {
	w := e.writer
	separator := "" // before the next item
	separate := func() {
		out.buf = append(out.buf, separator...)
		separator = w.Separator()
	}
	item := func(o *cache.Object) error {
		out.reserve()
		separate()
		var err error
		if out.buf, err = e.appendItem(out.buf, o); err != nil {
			return err
		}
		return out.spill()
	}
	run := func(r cache.Run) error {
		if !e.shares(r) {
			return forEach(r.Objects(), item)
		}
		text, err := e.text(r)
		if err != nil {
			return err
		}
		separate()
		return out.add(text)
	}
	out.buf = w.AppendListHead(out.buf, l.meta, l.count, size)
	if err := l.each(run, item); err != nil {
		return err
	}
	out.buf = w.AppendListTail(out.buf, l.meta, l.count)
	return out.finish()
}
