package encode

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"sluice/cache/tree"
	"sluice/codec/splice"
	"sluice/codec/table"
)

// The bytes of Tables depend on the time by their ages only. Segments memoize their rows without
// ages, which are written anew for each reader, and compressed with ages, which stand still for
// seconds to days. Events share their text without ages.

// validity is the time in which ages are printed as they are, from its first to before its last
// nanosecond since 1970. Ages before the first one are not known: a clock may be set back.
type validity struct{ from, until int64 }

func validityOf(text *table.Text, now time.Time) validity {
	v := validity{now.UnixNano(), math.MaxInt64}
	if next, ok := text.Changes(now); ok && next.Before(time.Unix(0, math.MaxInt64)) {
		v.until = next.UnixNano()
	}
	return v
}

func (v validity) has(now time.Time) bool {
	at := now.UnixNano()
	return v.from <= at && at < v.until
}

// agedBlock is the memoized block of a run with ages: the newest one that was compressed.
type agedBlock struct {
	renewing sync.Mutex // serializes compression
	newest   atomic.Pointer[blockAt]
}

// blockAt is a block of ages during a time.
type blockAt struct {
	block *splice.Block
	valid validity
}

// at returns the newest block if its ages are right now.
func (b *agedBlock) at(now time.Time) (*splice.Block, bool) {
	n := b.newest.Load()
	if n == nil || !n.valid.has(now) {
		return nil, false
	}
	return n.block, true
}

// agedBlock returns the compressed text of a run that is memoized with its ages as of now.
func (e *Segments) agedBlock(coding splice.Coding, r tree.Run) (*splice.Block, error) {
	key := memoKey{e.Format, e.events, coding}
	if v, ok := r.Recall(key); ok {
		return e.renewed(v.(*agedBlock), coding, r)
	}
	text, err := e.text(r)
	if err != nil {
		return nil, err
	}
	v, err := r.Memo(e.budget, key, func([]*tree.Object) (any, int64, error) {
		b := new(agedBlock)
		block, err := b.compress(coding, text, e.Format.now())
		if err != nil {
			return nil, 0, err
		}
		return b, int64(cap(block.Data)), nil
	})
	if err != nil {
		return nil, err
	}
	return e.renewed(v.(*agedBlock), coding, r)
}

// renewed returns the block of b, compressed again if an age has changed.
func (e *Segments) renewed(b *agedBlock, coding splice.Coding, r tree.Run) (*splice.Block, error) {
	if block, ok := b.at(e.Format.now()); ok {
		return block, nil
	}
	text, err := e.text(r)
	if err != nil {
		return nil, err
	}
	b.renewing.Lock()
	defer b.renewing.Unlock()
	now := e.Format.now()
	if block, ok := b.at(now); ok {
		return block, nil
	}
	return b.compress(coding, text, now)
}

// compress makes the newest block of a text.
func (b *agedBlock) compress(coding splice.Coding, text *table.Text, now time.Time) (*splice.Block, error) {
	block, err := compressBlock(coding, func(dst []byte) ([]byte, error) { return text.AppendAt(dst, now), nil })
	if err == nil {
		b.newest.Store(&blockAt{block, validityOf(text, now)})
	}
	return block, err
}
