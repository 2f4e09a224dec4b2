package consistency

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// random returns a source of its own for each who needs one.
func random(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// upTo is a random time of at most d.
func upTo(rnd *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(rnd.Int64N(int64(d) + 1))
}

// between is a random time from a to b.
func between(rnd *rand.Rand, a, b time.Duration) time.Duration { return a + upTo(rnd, b-a) }
