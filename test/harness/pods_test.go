package harness

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// wantSize is the size of a pod in bytes of JSON; the results of benchmarks depend on it.
const wantSize, sizeTolerance = 7400, 200

func TestPodsAreDeterministic(t *testing.T) {
	a, b := Pods(50, "shop", 7), Pods(50, "shop", 7)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("same seed, different pods:\n%s", diff)
	}
	if cmp.Equal(a, Pods(50, "shop", 8)) {
		t.Error("different seed, same pods")
	}
}

func TestPodsHaveDistinctNames(t *testing.T) {
	names := make(map[string]bool)
	for _, p := range Pods(1000, "shop", 1) {
		names[p.Name] = true
	}
	if len(names) != 1000 {
		t.Errorf("%d names for 1000 pods", len(names))
	}
}

func TestPodsHaveTheirSize(t *testing.T) {
	for _, p := range Pods(3, "shop", 1) {
		checkSize(t, p)
	}
}

func checkSize(t *testing.T, p *corev1.Pod) {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) < wantSize-sizeTolerance || len(raw) > wantSize+sizeTolerance {
		t.Errorf("%s is %d bytes of JSON, want about %d", p.Name, len(raw), wantSize)
	}
}
