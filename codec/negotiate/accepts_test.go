package negotiate

import (
	"testing"

	"sluice/codec"
)

// A clause without conversion accepts whole objects. A quality of 0 does not exclude an encoding, as at
// the apiserver.
func TestAcceptsIgnoresQualitiesAndConversions(t *testing.T) {
	const table = ";as=Table;g=meta.k8s.io;v=v1"
	for _, tt := range []struct {
		accept string
		e      codec.Encoding
		want   bool
	}{
		{"", codec.JSON, true},
		{"*/*", codec.CBOR, true},
		{"application/*", codec.YAML, true},
		{"application/json", codec.JSON, true},
		{"application/json;q=0", codec.JSON, true},
		{"application/json;sv=v1;pretty=1", codec.JSON, true},
		{"application/json;stream=watch", codec.JSON, true},
		{"application/yaml;stream=watch", codec.YAML, false},
		{"application/cbor, application/json;q=0.9", codec.JSON, true},
		{"application/cbor", codec.JSON, false},
		{"application/cbor-seq", codec.CBOR, false},
		{"application/json" + table, codec.JSON, false},
		{"application/json" + table + ",application/json", codec.JSON, true},
		{"application/json;v=v1", codec.JSON, false},
		{"text/html", codec.JSON, false},
		{"nonsense", codec.JSON, false},
	} {
		if got := (Request{Accept: tt.accept}).Accepts(tt.e); got != tt.want {
			t.Errorf("%q accepts %s: %v", tt.accept, tt.e, got)
		}
	}
}
