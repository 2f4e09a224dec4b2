package codec

import (
	"testing"

	fxcbor "github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// firstItem returns the first item of a CBOR sequence and the rest.
func firstItem(t *testing.T, b []byte) (item, rest []byte) {
	t.Helper()
	var raw fxcbor.RawMessage
	rest, err := fxcbor.UnmarshalFirst(b, &raw)
	if err != nil {
		t.Fatal(err)
	}
	return raw, rest
}

// sameCBOR compares two sequences of items by value. loose lets 1.0 equal 1: a server that stores custom
// resources as CBOR knows the difference, but their JSON, of which Writers make CBOR, does not.
func sameCBOR(t *testing.T, got, want []byte, loose bool) {
	t.Helper()
	decode := func(b []byte) (out []any) {
		for len(b) > 0 {
			item, rest := firstItem(t, b)
			var v any
			if err := direct.Unmarshal(item, &v); err != nil {
				t.Fatal(err)
			}
			out, b = append(out, v), rest
		}
		return out
	}
	if len(got) != len(want) && !loose {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	a, b := any(decode(want)), any(decode(got))
	if loose {
		a, b = integral(a), integral(b)
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
}

// integral turns floats without a fraction into integers.
func integral(v any) any {
	switch v := v.(type) {
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
	case []any:
		for i := range v {
			v[i] = integral(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = integral(v[k])
		}
	}
	return v
}
