package encode

import (
	"iter"
	"slices"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/codec/table"
)

// Segments encodes the objects of segments in one format, as the items of a list or as the
// events with which a watch begins. Whole segments, and parts of them that are selected, are encoded and
// compressed once for all readers and kept in the budget.
type Segments struct {
	Format  *Format       // shared by all readers of the format
	writer  *codec.Writer // of Format, or one like it that writes no ages
	events  bool          // initial events of a watch, not items of a list
	selects bool          // the runs are those of a selector
	budget  *tree.Budget
}

// NewSegments returns an encoder of initial events, or of the items of a list. With selects, the runs are
// those of a selector.
func NewSegments(e *Format, budget *tree.Budget, selects, events bool) *Segments {
	return &Segments{Format: e, writer: e.Writer, events: events, selects: selects, budget: budget}
}

// memoKey is the key of a memo of a segment: text without a coding, else a block; of Tables an
// ageless text or an agedBlock.
type memoKey struct {
	encoder *Format
	events  bool
	coding  splice.Coding
}

// smallestBlock is the least number of selected objects of a segment that are compressed as a block of
// their own: fewer compress badly.
const smallestBlock = 8

// MemoizesBlock reports whether the compressed block of the run is memoized.
func (e *Segments) MemoizesBlock(r tree.Run) bool {
	return e.Format.Memoizable() && (r.Whole() || e.selects && r.Len() >= smallestBlock)
}

// MemoizesText reports whether the text of the run is memoized: not if encoding costs no more than keeping
// the text would, and not if all of the text depends on the time. The texts of large objects, if
// they are whole, and indented texts would soon fill the budget, which their compressed blocks do not.
func (e *Segments) MemoizesText(r tree.Run) bool {
	f := e.Format.Format()
	cheap := f.Encoding == codec.Protobuf && f.Projection == "" || e.Format.Copies()
	long := f.WholeObjects() && r.Segment.Bytes() > tree.SegmentBytes || f.Pretty
	return e.Format.Memoizable() && (r.Whole() || e.selects) && !cheap && !long
}

// Pays reports whether memos of the run pay: the selection of a selector is memoized by the second read. It must
// be called once for each read.
func (e *Segments) Pays(r tree.Run) bool { return r.Whole() || e.selects && r.Reread() }

// Size returns the length of the text of a run that is shared; false if that is not memoized.
func (e *Segments) Size(r tree.Run) (int, bool, error) {
	if !r.Whole() || !e.MemoizesText(r) {
		return 0, false, nil
	}
	text, err := e.text(r)
	if err != nil {
		return 0, false, err
	}
	return len(text.Bytes), true, nil
}

// Parts yields the text of a run that is shared, in pieces that are valid until the next one. The
// caller must not change them.
func (e *Segments) Parts(r tree.Run) (iter.Seq[[]byte], error) {
	text, err := e.text(r)
	if err != nil {
		return nil, err
	}
	return text.Parts(e.Format.now()), nil
}

// text returns the encoded objects of a run that is shared, of Tables without their ages, memoized if MemoizesText. The
// caller must not change it.
func (e *Segments) text(r tree.Run) (*table.Text, error) {
	if !e.MemoizesText(r) {
		return e.encode(r.Objects())
	}
	v, err := r.Memo(e.budget, memoKey{e.Format, e.events, splice.Identity}, func(objects []*tree.Object) (any, int64, error) {
		text, err := e.encode(objects)
		if err != nil {
			return nil, 0, err
		}
		return text, textSize(text) + e.Format.pinned(), nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*table.Text), nil
}

// encode encodes objects, of Tables without their ages.
func (e *Segments) encode(objects []*tree.Object) (*table.Text, error) {
	text, apart := new(table.Text), *e
	if e.Format.Format().AgesApart() {
		apart.writer = e.writer.Ageless(&text.Ages)
	}
	var err error
	text.Bytes, err = cloned(func(dst []byte) ([]byte, error) { return apart.append(dst, objects) })
	text.Ages = slices.Clone(text.Ages)
	return text, err
}

// ageSize is the memory of a table.Age, in bytes.
const ageSize = 32

// textSize returns the memory of a text.
func textSize(t *table.Text) int64 { return int64(cap(t.Bytes)) + int64(cap(t.Ages))*ageSize }

// Block returns the encoded objects of a run, compressed, out of the memo if MemoizesBlock.
func (e *Segments) Block(coding splice.Coding, r tree.Run) (*splice.Block, error) {
	switch {
	case !e.MemoizesBlock(r):
		return e.compress(coding, r.Objects())
	case e.Format.Format().AgesApart():
		return e.agedBlock(coding, r)
	}
	v, err := r.Memo(e.budget, memoKey{e.Format, e.events, coding}, func(objects []*tree.Object) (any, int64, error) {
		b, err := e.compress(coding, objects)
		if err != nil {
			return nil, 0, err
		}
		return b, int64(cap(b.Data)) + e.Format.pinned(), nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*splice.Block), nil
}

func (e *Segments) compress(coding splice.Coding, objects []*tree.Object) (*splice.Block, error) {
	return compressBlock(coding, func(dst []byte) ([]byte, error) { return e.append(dst, objects) })
}

// append appends the encoded objects: items with separators between them, or ADDED events.
func (e *Segments) append(dst []byte, objects []*tree.Object) ([]byte, error) {
	var err error
	for i, o := range objects {
		switch {
		case e.events:
			dst, err = e.writer.AppendEvent(dst, cache.Added.String(), o.Data, false)
		case i > 0:
			dst, err = e.writer.AppendItem(append(dst, e.writer.Separator()...), o.Data)
		default:
			dst, err = e.writer.AppendItem(dst, o.Data)
		}
		if err != nil {
			return dst, e.Format.check(err)
		}
	}
	return dst, nil
}

// Append appends an object of a read. The first event of a watch of Tables has the columns.
func (e *Segments) Append(dst []byte, o *tree.Object, first bool) ([]byte, error) {
	if e.events {
		return e.Format.AppendEventOf(dst, cache.Added, o, first)
	}
	dst, err := e.Format.At(e.Format.now()).AppendItem(dst, o.Data)
	return dst, e.Format.check(err)
}

// Separator returns the text between two objects.
func (e *Segments) Separator() string {
	if e.events {
		return ""
	}
	return e.Format.Separator()
}

// Verbatim reports whether objects are written as they are stored.
func (e *Segments) Verbatim() bool { return !e.events && e.Format.Verbatim() }
