package json

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sluice/test/support/jsontest"
)

func TestFieldEqualsApiextensions(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	check := func(n string) {
		obj := []byte(`{"n":` + n + `}`)
		if got, ok := Value(obj).Field("n"); !ok || got != jsontest.Selectable(t, obj, ".n") {
			t.Errorf("%s: %s, want %s", n, got, jsontest.Selectable(t, obj, ".n"))
		}
	}
	for _, n := range jsontest.Numbers {
		check(n)
	}
	for range 1000 {
		check(fmt.Sprint(r.NormFloat64() * 1e6))
		check(string(AppendString(nil, jsontest.Text(r))))
	}
	if _, ok := Value(`{"spec":{"list":[1]}}`).Field("spec", "list"); ok {
		t.Error("a list is no field")
	}
}
