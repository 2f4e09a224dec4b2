package serve

import (
	"sync"

	"sluice/cache"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/proxy/mirror"
)

// items encodes the objects of runs, once for all lists that hold them whole.
type items struct {
	encoder *codec.Writer
	owner   *mirror.Encoder // the same for all who want this format: the memos' key
	budget  *cache.Budget
}

// The keys of memos on a segment.
type (
	plainKey struct{ of *mirror.Encoder }
	blockKey struct{ of *mirror.Encoder }
)

// plain returns the encoded objects of a run with their separators. It aliases
// what is memoized, or scratch.
func (i *items) plain(r cache.Run, scratch []byte) ([]byte, error) {
	if !r.Whole() || i.cheap() {
		return i.encode(scratch[:0], r.Objects())
	}
	v, err := r.Segment.Memo(i.budget, plainKey{i.owner}, func(objects []*cache.Object) (any, int64, error) {
		text, err := i.encode(nil, objects)
		return text, int64(cap(text)), err
	})
	if err != nil {
		return nil, err
	}
	return v.([]byte), nil
}

// cheap reports whether encoding costs no more than keeping the result would,
// or whether the result does not last.
func (i *items) cheap() bool {
	f := i.encoder.Format()
	return f.AgesWithTime() || f.Encoding == codec.Protobuf
}

// block returns the run's objects compressed. Objects only: what is put into a
// block is either seen by a caller as a whole or not at all.
func (i *items) block(r cache.Run) (*splice.Block, error) {
	if !r.Whole() || i.encoder.Format().AgesWithTime() {
		return i.compress(r.Objects())
	}
	v, err := r.Segment.Memo(i.budget, blockKey{i.owner}, func(objects []*cache.Object) (any, int64, error) {
		b, err := i.compress(objects)
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

var scratches = sync.Pool{New: func() any { return new([]byte) }}

func (i *items) compress(objects []*cache.Object) (*splice.Block, error) {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	text, err := i.encode((*scratch)[:0], objects)
	if err != nil {
		return nil, err
	}
	*scratch = text
	b := splice.Compress(nil, text, splice.DefaultLevel)
	return &b, nil
}

func (i *items) encode(dst []byte, objects []*cache.Object) ([]byte, error) {
	for n, o := range objects {
		if n > 0 {
			dst = append(dst, i.encoder.Separator()...)
		}
		var err error
		if dst, err = i.encoder.AppendItem(dst, o.Data); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
