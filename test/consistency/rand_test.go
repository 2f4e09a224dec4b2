package consistency

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// random returns the random source of one name, which does not depend on other names.
func random(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// upTo returns a random duration of at most d.
func upTo(rnd *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(rnd.Int64N(int64(d) + 1))
}

// between returns a random duration in [a, b].
func between(rnd *rand.Rand, a, b time.Duration) time.Duration { return a + upTo(rnd, b-a) }
