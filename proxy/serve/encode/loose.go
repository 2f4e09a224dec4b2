package encode

import (
	"sluice/cache/tree"
	"sluice/codec/splice"
)

// looseBytes is how many stored bytes are compressed together that are not memoized.
const looseBytes = 128 << 10

// Loose are runs that are compressed together.
type Loose struct {
	Segments *Segments // that encodes them
	runs     []tree.Run
	memoized []bool // the text of each run
	bytes    int64  // stored
}

// Add adds a run. With memoize, its text comes out of the memo.
func (l *Loose) Add(r tree.Run, memoize bool) {
	l.runs, l.memoized, l.bytes = append(l.runs, r), append(l.memoized, memoize), l.bytes+r.Bytes()
}

// Empty reports whether there is nothing to compress.
func (l *Loose) Empty() bool { return l.bytes == 0 }

// Full reports whether there is enough to compress.
func (l *Loose) Full() bool { return l.bytes >= looseBytes }

// Compress compresses the runs and forgets them.
func (l *Loose) Compress(coding splice.Coding) (*splice.Block, error) {
	block, err := compressBlock(coding, func(dst []byte) (_ []byte, err error) {
		for i, r := range l.runs {
			if i > 0 {
				dst = append(dst, l.Segments.writer.Separator()...)
			}
			if dst, err = l.Segments.appendRun(dst, r, l.memoized[i]); err != nil {
				return dst, err
			}
		}
		return dst, nil
	})
	l.runs, l.memoized, l.bytes = l.runs[:0], l.memoized[:0], 0
	return block, err
}
