package encode

import (
	"bytes"
	"iter"

	"sluice/cache/tree"
	"sluice/codec/splice"
	"sluice/codec/table"
)

// Indentation makes a list about twice as long, and costs less than writing it. Segments memoize compact
// text, which is shared with the readers of compact lists and indented anew for each other reader. Indented
// text is memoized only where the budget has room for it that nothing else uses.

// compact returns the encoder of the compact text that e indents; nil if e is compact itself.
func (e *Segments) compact() *Segments {
	c := e.Format.compact
	if c == nil {
		return nil
	}
	return &Segments{Format: c, writer: c.Writer, events: e.events, selects: e.selects, budget: e.budget}
}

// indented yields the text of a run that is shared, indented for one reader.
func (e *Segments) indented(compact *Segments, r tree.Run) (iter.Seq[[]byte], error) {
	key := memoKey{e.Format, e.events, splice.Identity}
	if v, ok := r.Recall(key); ok {
		return func(yield func([]byte) bool) { yield(v.([]byte)) }, nil
	}
	scratch := scratches.Get().(*[]byte)
	text, err := e.appendIndented((*scratch)[:0], compact, r)
	if err != nil {
		return nil, err
	}
	if int64(len(text)) <= e.budget.Limit()-e.budget.Used() {
		_, err = r.Memo(e.budget, key, func([]*tree.Object) (any, int64, error) { return bytes.Clone(text), int64(len(text)), nil })
		if err != nil {
			return nil, err
		}
	}
	return func(yield func([]byte) bool) {
		if yield(text) { // else the connection may still read the buffer
			recycle(scratch, text)
		}
	}, nil
}

// appendIndented appends the text of a run that is shared.
func (e *Segments) appendIndented(dst []byte, compact *Segments, r tree.Run) ([]byte, error) {
	text, err := compact.text(r)
	if err == nil {
		dst, err = e.writer.AppendIndented(dst, text, nil)
	}
	return dst, e.Format.check(err)
}

// indentAgeless returns the indented text of a run without its ages, which are as long in either form. A text that is not
// memoized is in scratch.
func (e *Segments) indentAgeless(compact *Segments, r tree.Run, scratch *[]byte) (*table.Text, error) {
	key := memoKey{e.Format, e.events, splice.Identity}
	if v, ok := r.Recall(key); ok {
		return v.(*table.Text), nil
	}
	text, err := compact.ageless(r, nil)
	if err == nil {
		text, err = text.Indented((*scratch)[:0], e.writer.AppendIndented)
	}
	if err != nil {
		return nil, e.Format.check(err)
	}
	*scratch = text.Bytes
	size := int64(len(text.Bytes)) + int64(len(text.Ages))*ageSize
	if !compact.MemoizesText(r) || size > e.budget.Limit()-e.budget.Used() {
		return text, nil
	}
	_, err = r.Memo(e.budget, key, func([]*tree.Object) (any, int64, error) {
		kept := &table.Text{Bytes: bytes.Clone(text.Bytes), Ages: text.Ages}
		return kept, textSize(kept), nil
	})
	return text, err
}
