package codec

import "testing"

// Whole objects are taken by a clause without conversion; qualities do not
// exclude, as at the apiserver.
func TestTakes(t *testing.T) {
	const table = ";as=Table;g=meta.k8s.io;v=v1"
	for _, tt := range []struct {
		accept string
		e      Encoding
		want   bool
	}{
		{"", JSON, true},
		{"*/*", CBOR, true},
		{"application/*", YAML, true},
		{"application/json", JSON, true},
		{"application/json;q=0", JSON, true},
		{"application/json;sv=v1;pretty=1", JSON, true},
		{"application/json;stream=watch", JSON, true},
		{"application/yaml;stream=watch", YAML, false},
		{"application/cbor, application/json;q=0.9", JSON, true},
		{"application/cbor", JSON, false},
		{"application/cbor-seq", CBOR, false},
		{"application/json" + table, JSON, false},
		{"application/json" + table + ",application/json", JSON, true},
		{"application/json;v=v1", JSON, false},
		{"text/html", JSON, false},
		{"nonsense", JSON, false},
	} {
		if got := (Client{Accept: tt.accept}).Takes(tt.e); got != tt.want {
			t.Errorf("%q takes %s: %v", tt.accept, tt.e, got)
		}
	}
}
