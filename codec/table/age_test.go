package table

import (
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

func TestDurationsEqualHumanDuration(t *testing.T) {
	var all []time.Duration
	for _, u := range units {
		for _, off := range []time.Duration{-time.Second, -1, 0, 1, time.Second, time.Minute, time.Hour, day} {
			all = append(all, u.below+off, 3*u.big+off, -u.big+off)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		all = append(all, time.Duration(rng.Int64N(1<<(20+rng.Uint64N(43)))))
	}
	for _, d := range all {
		if got, want := string(appendDuration(nil, d)), duration.HumanDuration(d); got != want {
			t.Fatalf("%v: got %q, want %q", d, got, want)
		}
	}
}
