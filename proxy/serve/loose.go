package serve

import (
	"sluice/cache/tree"
	"sluice/codec/splice"
)

// looseBytes is how many stored bytes are compressed together that are not memoized.
const looseBytes = 128 << 10

// looseRuns are runs that are compressed together.
type looseRuns struct {
	encoder  *segmentEncoder
	runs     []tree.Run
	memoized []bool // the text of each run
	bytes    int64  // stored
}

func (l *looseRuns) add(r tree.Run, memoize bool) {
	l.runs, l.memoized, l.bytes = append(l.runs, r), append(l.memoized, memoize), l.bytes+r.Bytes()
}

// compress compresses the runs and forgets them.
func (l *looseRuns) compress(coding splice.Coding) (*splice.Block, error) {
	block, err := compressBlock(coding, func(dst []byte) (_ []byte, err error) {
		for i, r := range l.runs {
			if i > 0 {
				dst = append(dst, l.encoder.writer.Separator()...)
			}
			if dst, err = l.encoder.appendRun(dst, r, l.memoized[i]); err != nil {
				return dst, err
			}
		}
		return dst, nil
	})
	l.runs, l.memoized, l.bytes = l.runs[:0], l.memoized[:0], 0
	return block, err
}
