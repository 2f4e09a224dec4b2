package table

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

var (
	someKeys = []string{"app", "app.kubernetes.io/name", "a", "a-b", "z_9", "Bad Key", "-x", "UPPER.io/n", "a/b/c", "/x",
		strings.Repeat("k", 63), strings.Repeat("k", 64), strings.Repeat("p", 254) + "/k", "a..b/k"}
	someValues = []string{"", "x", "y.z", "0", "bad value", "-", "ü", strings.Repeat("v", 63), strings.Repeat("v", 64)}
)

// pick prefers the first four elements, which are valid, so that whole selectors are valid too.
func pick[T any](rng *rand.Rand, from []T) T {
	if rng.IntN(12) > 0 {
		return from[rng.IntN(4)]
	}
	return from[rng.IntN(len(from))]
}

func TestLabelsAreSortedAsPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		m := map[string]string{}
		for range rng.IntN(6) {
			m[pick(rng, someKeys)] = pick(rng, someValues)
		}
		src, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(new(row).appendLabels(nil, src)), labels.FormatLabels(m); got != want {
			t.Fatalf("%s: got %q, want %q", src, got, want)
		}
	}
}
