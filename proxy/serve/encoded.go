package serve

import (
	"bytes"
	"iter"
	"sync"

	"sluice/cache"
	"sluice/codec"
	"sluice/codec/splice"
)

// form is what is made of the objects of runs: the items of lists, or the
// events with which a watch begins.
type form struct {
	encoder *Encoder // the same for all who want this format
	events  bool
}

// encoded is the objects of runs in one form, encoded once for all who want
// them whole.
type encoded struct {
	form
	budget *cache.Budget
	// encode appends the objects of a run.
	encode func(dst []byte, objects []*cache.Object) ([]byte, error)
}

// The keys of memos on a segment.
type (
	plainKey struct{ of form }
	blockKey struct {
		of     form
		coding splice.Coding
	}
)

// largestRun is the most stored bytes of a run that is encoded in one piece;
// the objects of others are written one by one. It bounds what one slow reader
// can hold.
const largestRun = 2 << 20

// shared reports whether the run is encoded once for all: not if that costs no
// more than keeping the result would, or if the result does not last.
func (e *encoded) shared(r cache.Run) bool {
	f := e.encoder.Format()
	cheap := f.Encoding == codec.Protobuf || e.encoder.Copies()
	return r.Whole() && !cheap && !f.AgesWithTime() && r.Segment.Bytes() <= largestRun
}

// bounded are the runs, but for long ones that are not whole: these are for one
// reader alone, who is to hold one object of them at a time.
func bounded(runs iter.Seq[cache.Run]) iter.Seq[cache.Run] {
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

// plain returns the encoded objects of a run that is shared.
func (e *encoded) plain(r cache.Run) ([]byte, error) {
	v, err := r.Segment.Memo(e.budget, plainKey{e.form}, func(objects []*cache.Object) (any, int64, error) {
		text, err := e.encode(nil, objects)
		return text, int64(cap(text)), err
	})
	if err != nil {
		return nil, err
	}
	return v.([]byte), nil
}

// block returns the run's objects compressed. Objects only: what is put into a
// block is either seen by a caller as a whole or not at all.
func (e *encoded) block(coding splice.Coding, r cache.Run) (*splice.Block, error) {
	if !r.Whole() || e.encoder.Format().AgesWithTime() {
		return e.compress(coding, r.Objects())
	}
	v, err := r.Segment.Memo(e.budget, blockKey{e.form, coding}, func(objects []*cache.Object) (any, int64, error) {
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

func (e *encoded) compress(coding splice.Coding, objects []*cache.Object) (*splice.Block, error) {
	return compress(coding, func(dst []byte) ([]byte, error) { return e.encode(dst, objects) })
}

var scratches = sync.Pool{New: func() any { return new([]byte) }}

// largestScratch bounds the buffers that are kept for reuse.
const largestScratch = 2 * largestRun

func recycle(scratch *[]byte, grown []byte) {
	if cap(grown) <= largestScratch {
		*scratch = grown
		scratches.Put(scratch)
	}
}

// compress makes a block of what encode appends.
func compress(coding splice.Coding, encode func(dst []byte) ([]byte, error)) (*splice.Block, error) {
	scratch := scratches.Get().(*[]byte)
	text, err := encode((*scratch)[:0])
	if err != nil {
		return nil, err
	}
	packed := scratches.Get().(*[]byte)
	b := coding.Compress((*packed)[:0], text)
	whole := b.Data
	b.Data = bytes.Clone(whole) // no longer than it has to be: it is kept
	recycle(scratch, text)
	recycle(packed, whole)
	return &b, nil
}

// items encodes the items of a list, with separators between them.
func (s *Handler) items(owner *Encoder, w *codec.Writer) encoded {
	return encoded{form{encoder: owner}, s.options.Encoded, func(dst []byte, objects []*cache.Object) ([]byte, error) {
		for n, o := range objects {
			if n > 0 {
				dst = append(dst, w.Separator()...)
			}
			var err error
			if dst, err = w.AppendItem(dst, o.Data); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}}
}

// events encodes the events that tell a watch what there is.
func (s *Handler) events(owner *Encoder) encoded {
	return encoded{form{owner, true}, s.options.Encoded, func(dst []byte, objects []*cache.Object) ([]byte, error) {
		for _, o := range objects {
			var err error
			if dst, err = owner.AppendEvent(dst, cache.Added, o); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}}
}
