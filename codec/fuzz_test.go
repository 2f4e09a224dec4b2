package codec

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/randfill"
)

// everyWriter returns writers of all formats for a resource, as far as there are any.
func everyWriter(t testing.TB, r *Resource) (out []*Writer) {
	for e := JSON; e <= maxEncoding; e++ {
		for s := Object; s <= maxShape; s++ {
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

// FuzzWriter feeds writers what nobody should have stored: they must not panic, and on an error must leave dst alone.
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

// TestMetadataProtoRandom compares ObjectMeta messages made of JSON with those of the Go type, for random metadata in the
// order of the type and sorted.
func TestMetadataProtoRandom(t *testing.T) {
	fill := randfill.NewWithSeed(7).NilChance(0.3).NumElements(0, 3).Funcs(
		func(tm *metav1.Time, c randfill.Continue) { *tm = metav1.Unix(c.Int63n(4e9), 0) },
		func(f *metav1.FieldsV1, c randfill.Continue) {
			f.SetRawBytes([]byte(`{"f:metadata":{"k:{\"a\":\"é\"}":{}}}`))
		},
		func(p **metav1.FieldsV1, c randfill.Continue) { *p = metav1.NewFieldsV1(`{".":{}}`) },
	)
	for range 2000 {
		var p metav1.PartialObjectMetadata
		fill.Fill(&p.ObjectMeta)
		if p.CreationTimestamp.Year() < 1 {
			p.CreationTimestamp = metav1.Time{Time: time.Time{}}
		}
		want, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		typed, err := json.Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(typed))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		sorted, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range [][]byte{typed, sorted} {
			got, err := appendMetadataProto(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, got, want)
		}
	}
}
