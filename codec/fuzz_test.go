package codec

import (
	"bytes"
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// everyWriter returns the writers of a resource for every format that it supports.
func everyWriter(t testing.TB, r *Resource) (out []*Writer) {
	for e := JSON; e <= CBOR; e++ {
		for s := Object; s <= Metadata; s++ {
			for include := IncludeMetadata; include <= IncludeObject; include++ {
				if w, err := NewWriter(r, Format{Encoding: e, Shape: s, Include: include}); err == nil {
					out = append(out, w)
				}
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("no writers")
	}
	return out
}

// FuzzWriter gives writers malformed objects: they must not panic, and on an error must not change dst.
func FuzzWriter(f *testing.F) {
	p, err := pod(1).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	j, _ := json.Marshal(pod(1))
	f.Add(p)
	f.Add(j)
	f.Add([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"labels":[],"managedFields":[{"time":3}]}}`))
	f.Add([]byte(`{"metadata":null,"kind":"Pod"`))
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	var writers []*Writer
	for _, r := range []*Resource{podsProto, podsJSON, foos} {
		writers = append(writers, everyWriter(f, r)...)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, w := range writers {
			for _, write := range []func(dst, src []byte) ([]byte, error){
				w.AppendItem, w.AppendObject, func(dst, src []byte) ([]byte, error) {
					if w.format.Encoding == YAML {
						return dst, nil
					}
					return w.AppendEvent(dst, string(watch.Added), src, true)
				},
			} {
				out, err := write([]byte("before"), src)
				if !bytes.HasPrefix(out, []byte("before")) || err != nil && len(out) != len("before") {
					t.Errorf("%+v: %q %v", w.format, out, err)
				}
			}
		}
	})
}
