package proto

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"
)

// TestPartialFromJSONEqualsTheGoType compares messages made from JSON with those of the Go type, for random
// metadata in the order of the type and sorted.
func TestPartialFromJSONEqualsTheGoType(t *testing.T) {
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
			got, err := AppendPartialObjectMetadataFromJSON(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s:\ngot  %q\nwant %q", src, got, want)
			}
		}
	}
}
