package serve

import (
	"bytes"
	"iter"
	"time"

	"sluice/cache"
	"sluice/codec/splice"
	"sluice/codec/table"
)

// Indentation makes a list about twice as long, and costs less than writing it. Segments memoize compact
// text, which is shared with the readers of compact lists and indented anew for each other reader. Indented
// text is memoized only where the budget has room for it that nothing else uses.

// compact returns the encoder of the compact text that e indents; nil if e is compact itself.
func (e *segmentEncoder) compact() *segmentEncoder {
	c := e.encoder.compact
	if c == nil {
		return nil
	}
	return &segmentEncoder{encoder: c, writer: c.Writer, events: e.events, selects: e.selects, budget: e.budget}
}

// indented yields the text of a run that is shared, indented for one reader.
func (e *segmentEncoder) indented(compact *segmentEncoder, r cache.Run) (iter.Seq[[]byte], error) {
	key := memoKey{e.encoder, e.events, splice.Identity}
	if v, ok := r.Recall(key); ok {
		return func(yield func([]byte) bool) { yield(v.([]byte)) }, nil
	}
	scratch := scratches.Get().(*[]byte)
	text, err := e.appendIndented((*scratch)[:0], compact, r)
	if err != nil {
		return nil, err
	}
	if !e.encoder.agesApart() && int64(len(text)) <= e.budget.Limit()-e.budget.Used() {
		_, err = r.Memo(e.budget, key, func([]*cache.Object) (any, int64, error) { return bytes.Clone(text), int64(len(text)), nil })
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
func (e *segmentEncoder) appendIndented(dst []byte, compact *segmentEncoder, r cache.Run) ([]byte, error) {
	if e.encoder.agesApart() {
		text, err := e.ageless(r)
		if err != nil {
			return dst, err
		}
		return e.appendAged(dst, text, time.Now())
	}
	text, err := compact.text(r)
	if err == nil {
		dst, err = e.writer.AppendIndented(dst, text)
	}
	return dst, e.encoder.check(err)
}

// appendAged appends a text with its ages as of now.
func (e *segmentEncoder) appendAged(dst []byte, text *table.Text, now time.Time) ([]byte, error) {
	if e.encoder.compact == nil {
		return text.AppendAt(dst, now), nil
	}
	scratch := scratches.Get().(*[]byte)
	compact := text.AppendAt((*scratch)[:0], now)
	defer recycle(scratch, compact)
	dst, err := e.writer.AppendIndented(dst, compact)
	return dst, e.encoder.check(err)
}
