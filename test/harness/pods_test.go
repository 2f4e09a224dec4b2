package harness

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPodsAreDeterministic(t *testing.T) {
	a, b := Pods(50, "shop", 7), Pods(50, "shop", 7)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("same seed, different pods:\n%s", diff)
	}
}

// Results of benchmarks depend on the size of a pod.
func TestPodsHaveTheirSize(t *testing.T) {
	const size, tolerance = 7400, 200 // bytes of JSON
	for _, p := range Pods(3, "shop", 1) {
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) < size-tolerance || len(raw) > size+tolerance {
			t.Errorf("%s is %d bytes of JSON, want about %d", p.Name, len(raw), size)
		}
	}
}
