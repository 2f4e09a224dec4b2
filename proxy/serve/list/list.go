package list

import (
	"net/http"

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
	// SlowReaders bounds the memory of responses whose clients read slowly; nil bounds nothing.
	SlowReaders *flowcontrol.SlowReaders
}

// List answers a list, or returns why it passes.
func (s *Server) List(w http.ResponseWriter, r *http.Request, p *plan.Plan, a *fresh.Attempt) error {
	state, reason, err := snapshot(r.Context(), p, a)
	if err != nil {
		return err
	}
	if p.Info.Why != nil {
		fresh.Foreseen(p, reason)
		return nil
	}
	work := s.CPU.Work(r.Context(), p.Info.Account.Key, p.Examined(state))
	defer work.Rest()
	if err := work.Next(); err != nil {
		return err
	}
	l, err := newContents(p, state)
	if err != nil {
		return outcome.UnservedOptions
	}
	if p.Selection.Filter != nil && p.Selection.Indexed == nil && p.Options.Limit == 0 {
		p.Info.Scanned = int64(state.Count(p.Selection.Keys) - l.count)
	}
	e := encode.NewSegments(p.Format, s.Encoded, p.Selection.Filter != nil, false)
	out := newResponseWriter(w, r, work, func(h http.Header) { a.Head(h, p, reason, state.Version) })
	defer out.release()
	out.encoded = &p.Info.Encoded
	reader := s.SlowReaders.Track(p.Info.Account.Key, out.client, func() { out.client.EndWithin(0) })
	defer reader.Done()
	reader.Hold(p.Resource.Store, state)
	err = l.write(out, e)
	if err != nil && reader.Ended() {
		p.Info.Outcome.Reason = flowcontrol.TooSlow
		return err
	}
	if err != nil && !out.started {
		return outcome.UnservedFormat // an object cannot be encoded
	}
	return err
}

// write writes the list: as compressed blocks if it is a long one of whole segments, else as text.
func (l *contents) write(out *responseWriter, e *encode.Segments) error {
	size, err := l.itemsSize(e)
	if err != nil {
		return err
	}
	if l.bytes >= encode.BlocksPay && out.accepted != splice.Identity && e.Format.Memoizable() {
		if written, err := l.writeBlocks(out, e, size); written || err != nil {
			return err
		}
	}
	return l.writeText(out, e, size)
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

// writeBlocks writes the list as a stream of compressed blocks, those that are shared out of the
// memo. Runs that are too small for that are compressed together. It reports false, with nothing
// written, if the list is too short to be compressed.
func (l *contents) writeBlocks(out *responseWriter, e *encode.Segments, size int) (bool, error) {
	coding := out.accepted
	stored := func(text []byte) error { // for text that is too short to gain by compression
		b := coding.Store(nil, text)
		return out.addBlock(&b)
	}
	out.startBlocks()
	if err := stored(e.Format.AppendListHead(nil, l.meta, l.count, size)); err != nil {
		return false, err
	}
	separator, first := coding.Store(nil, []byte(e.Format.Separator())), true
	add := func(block *splice.Block, err error) error {
		if err == nil && !first {
			err = out.addBlock(&separator)
		}
		first = false
		if err != nil {
			return err
		}
		return out.addBlock(block)
	}
	loose := encode.Loose{Segments: e}
	compressLoose := func() error {
		if loose.Empty() {
			return nil
		}
		return add(loose.Compress(coding))
	}
	for run := range l.runs {
		err := out.work.Next()
		if err != nil {
			return false, err
		}
		if pays := e.Pays(run); pays && e.MemoizesBlock(run) {
			if err = compressLoose(); err == nil {
				err = add(e.Block(coding, run))
			}
		} else if loose.Add(run, pays && e.MemoizesText(run)); loose.Full() {
			err = compressLoose()
		}
		if err != nil {
			return false, err
		}
	}
	if err := compressLoose(); err != nil {
		return false, err
	}
	if err := stored(e.Format.AppendListTail(nil, l.meta, l.count)); err != nil {
		return false, err
	}
	return out.finishBlocks()
}

// writeText writes the list as text, what is shared out of the memo.
func (l *contents) writeText(out *responseWriter, e *encode.Segments, size int) error {
	w := e.Format
	separator := "" // before the next item
	separate := func() {
		out.buf = append(out.buf, separator...)
		separator = w.Separator()
	}
	item := func(o *tree.Object) error {
		if err := out.work.Next(); err != nil {
			return err
		}
		separate()
		if e.Format.Verbatim() {
			return out.add(o.Data)
		}
		out.reserve()
		var err error
		if out.buf, err = e.AppendItem(out.buf, o); err != nil {
			return err
		}
		return out.spill()
	}
	run := func(r tree.Run) error {
		if !e.Pays(r) || !e.MemoizesText(r) {
			for _, o := range r.Objects() {
				if err := item(o); err != nil {
					return err
				}
			}
			return nil
		}
		if err := out.work.Next(); err != nil {
			return err
		}
		parts, err := e.Parts(r)
		if err != nil {
			return err
		}
		separate()
		for part := range parts {
			if err := out.add(part); err != nil {
				return err
			}
		}
		return nil
	}
	out.buf = w.AppendListHead(out.buf, l.meta, l.count, size)
	for r := range l.runs {
		if err := run(r); err != nil {
			return err
		}
	}
	out.buf = w.AppendListTail(out.buf, l.meta, l.count)
	return out.finish()
}
