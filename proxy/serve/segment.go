package serve

import (
	"bytes"
	"iter"
	"sync"

	"sluice/cache"
	"sluice/codec"
	"sluice/codec/splice"
)

// segmentEncoder encodes the objects of segments in one format, as the items of a list or as the
// events with which a watch begins. Whole segments are encoded and compressed once for all readers
// and kept in the budget.
type segmentEncoder struct {
	encoder *formatEncoder // shared by all readers of the format
	writer  *codec.Writer  // of encoder, with the ages of Tables at one time
	events  bool           // initial events of a watch, not items of a list
	budget  *cache.Budget
}

// memoKey is the key of what a segment memoizes: text without a coding, else a block.
type memoKey struct {
	encoder *formatEncoder
	events  bool
	coding  splice.Coding
}

// largestRun is the most stored bytes of a run that is encoded in one piece; the objects of longer
// runs are written one by one. It bounds what one slow reader can hold.
const largestRun = 2 << 20

// shares reports whether the text of the run is memoized: not if encoding costs no more than keeping
// the text would, and not if the text depends on the time.
func (e *segmentEncoder) shares(r cache.Run) bool {
	f := e.encoder.Format()
	cheap := f.Encoding == codec.Protobuf || e.encoder.Copies()
	return r.Whole() && !cheap && !f.AgesWithTime() && r.Segment.Bytes() <= largestRun
}

// text returns the encoded objects of a run that is shared. The caller must not change it.
func (e *segmentEncoder) text(r cache.Run) ([]byte, error) {
	v, err := r.Segment.Memo(e.budget, memoKey{e.encoder, e.events, splice.Identity}, func(objects []*cache.Object) (any, int64, error) {
		text, err := e.append(nil, objects)
		return text, int64(cap(text)), err
	})
	if err != nil {
		return nil, err
	}
	return v.([]byte), nil
}

// block returns the encoded objects of a run, compressed. Only whole segments are memoized, so that a
// reader of a part of a segment is not told the length of the rest.
func (e *segmentEncoder) block(coding splice.Coding, r cache.Run) (*splice.Block, error) {
	if !r.Whole() || e.encoder.Format().AgesWithTime() {
		return e.compress(coding, r.Objects())
	}
	v, err := r.Segment.Memo(e.budget, memoKey{e.encoder, e.events, coding}, func(objects []*cache.Object) (any, int64, error) {
		b, err := e.compress(coding, objects)
		if err != nil {
			return nil, 0, err
		}
		return b, int64(cap(b.Data)), nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*splice.Block), nil
}

func (e *segmentEncoder) compress(coding splice.Coding, objects []*cache.Object) (*splice.Block, error) {
	return compressBlock(coding, func(dst []byte) ([]byte, error) { return e.append(dst, objects) })
}

// append appends the encoded objects: items with separators between them, or ADDED events.
func (e *segmentEncoder) append(dst []byte, objects []*cache.Object) ([]byte, error) {
	var err error
	for i, o := range objects {
		switch {
		case e.events:
			dst, err = e.encoder.AppendEvent(dst, cache.Added, o)
		case i > 0:
			dst, err = e.appendItem(append(dst, e.writer.Separator()...), o)
		default:
			dst, err = e.appendItem(dst, o)
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendItem appends one object as an item of a list.
func (e *segmentEncoder) appendItem(dst []byte, o *cache.Object) ([]byte, error) {
	dst, err := e.writer.AppendItem(dst, o.Data)
	return dst, e.encoder.check(err)
}

// boundRuns splits long runs that are not whole segments into their objects: such a run is encoded
// for one reader alone, who then holds one encoded object of it at a time.
func boundRuns(runs iter.Seq[cache.Run]) iter.Seq[cache.Run] {
	return func(yield func(cache.Run) bool) {
		for r := range runs {
			step := r.To - r.From
			if !r.Whole() && r.Segment.Bytes() > largestRun {
				step = 1
			}
			for from := r.From; from < r.To; from += step {
				if !yield(cache.Run{Segment: r.Segment, From: from, To: from + step}) {
					return
				}
			}
		}
	}
}

// scratches holds idle buffers of up to largestScratch bytes.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

const largestScratch = 2 * largestRun

func recycle(scratch *[]byte, grown []byte) {
	if cap(grown) <= largestScratch {
		*scratch = grown
		scratches.Put(scratch)
	}
}

// compressBlock compresses what encode appends into a block that holds no spare capacity.
func compressBlock(coding splice.Coding, encode func(dst []byte) ([]byte, error)) (*splice.Block, error) {
	scratch := scratches.Get().(*[]byte)
	text, err := encode((*scratch)[:0])
	if err != nil {
		return nil, err
	}
	packed := scratches.Get().(*[]byte)
	b := coding.Compress((*packed)[:0], text)
	grown := b.Data
	b.Data = bytes.Clone(grown)
	recycle(scratch, text)
	recycle(packed, grown)
	return &b, nil
}
