package table

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var (
	someKeys = []string{"app", "app.kubernetes.io/name", "a", "a-b", "z_9", "Bad Key", "-x", "UPPER.io/n", "a/b/c", "/x",
		strings.Repeat("k", 63), strings.Repeat("k", 64), strings.Repeat("p", 254) + "/k", "a..b/k"}
	someValues = []string{"", "x", "y.z", "0", "bad value", "-", "ü", strings.Repeat("v", 63), strings.Repeat("v", 64)}
	someOps    = []metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Gt", ""}
)

// pick prefers the first four elements, which are valid, so that whole selectors are valid too.
func pick[T any](rng *rand.Rand, from []T) T {
	if rng.IntN(12) > 0 {
		return from[rng.IntN(4)]
	}
	return from[rng.IntN(len(from))]
}

func randomSelector(rng *rand.Rand) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	for range rng.IntN(3) {
		if s.MatchLabels == nil {
			s.MatchLabels = map[string]string{}
		}
		s.MatchLabels[pick(rng, someKeys)] = pick(rng, someValues)
	}
	for range rng.IntN(4) {
		e := metav1.LabelSelectorRequirement{Key: pick(rng, someKeys), Operator: pick(rng, someOps)}
		for range rng.IntN(4) * rng.IntN(2) {
			e.Values = append(e.Values, pick(rng, someValues))
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	return s
}

func TestSelectorsPrintAsInApimachinery(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	valid := 0
	for range 20000 {
		s := randomSelector(rng)
		src, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		want := metav1.FormatLabelSelector(s)
		if got := string(new(row).appendSelector(nil, src)); got != want {
			t.Fatalf("%s: got %q, want %q", src, got, want)
		}
		if got := string(appendGoSelector(nil, src)); got != s.String() {
			t.Fatalf("%s: got %q, want %q", src, got, s.String())
		}
		if want != "<error>" {
			valid++
		}
	}
	if valid < 2000 {
		t.Errorf("only %d selectors were valid", valid)
	}
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
