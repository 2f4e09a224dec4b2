package encode

import (
	"bytes"

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

// indented returns the indented text of a run that is shared; ages are as long in either form. A text that is not memoized
// is in scratch.
func (e *Segments) indented(compact *Segments, r tree.Run, scratch *[]byte) (*table.Text, error) {
	key := memoKey{e.Format, e.events, splice.Identity}
	if v, ok := r.Recall(key); ok {
		return v.(*table.Text), nil
	}
	text, err := compact.text(r, nil)
	if err == nil {
		text, err = text.Indented((*scratch)[:0], e.writer.AppendIndented)
	}
	if err != nil {
		return nil, e.Format.check(err)
	}
	*scratch = text.Bytes
	if !compact.MemoizesText(r) || textSize(text) > e.budget.Limit()-e.budget.Used() {
		return text, nil
	}
	_, err = r.Memo(e.budget, key, func([]*tree.Object) (any, int64, error) {
		kept := &table.Text{Bytes: bytes.Clone(text.Bytes), Ages: text.Ages}
		return kept, textSize(kept), nil
	})
	return text, err
}
