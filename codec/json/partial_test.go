package json

import (
	stdjson "encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"sluice/test/support/jsontest"
)

// appendPartial appends the metadata of obj as JSON.
func appendPartial(dst, obj []byte, apiVersion string) ([]byte, error) {
	p, err := PartialObjectMetadata(obj, apiVersion)
	if err != nil {
		return dst, err
	}
	out, err := stdjson.Marshal(p)
	return append(dst, out...), err
}

func TestPartialObjectMetadataRefusesWrongTypes(t *testing.T) {
	for in, want := range map[string]error{
		``: ErrNotObject, `[]`: ErrNotObject, `{"metadata":1}`: ErrFieldType, `{"metadata":{"name":1}}`: ErrFieldType,
		`{"metadata":{"labels":{"a":{}}}}`: ErrFieldType, `{"metadata":{"ownerReferences":[1]}}`: ErrFieldType, `{"metadata":{"generation":1.0}}`: ErrFieldType,
	} {
		if got, err := appendPartial([]byte("x"), []byte(in), "v"); !errors.Is(err, want) || string(got) != "x" {
			t.Errorf("%s: %s, %v, want %v", in, got, err, want)
		}
	}
}

// The apiserver reads the metadata of a custom resource through the getters of
// unstructured.Unstructured.
func TestPartialObjectMetadataOfCustomResourcesEqualsUnstructured(t *testing.T) {
	for _, f := range append(jsontest.Corpus(t), jsontest.Realistic()...) {
		src := sorted(t, f.JSON)
		var u unstructured.Unstructured
		if err := kjson.UnmarshalCaseSensitivePreserveInts(src, &u.Object); err != nil {
			t.Fatal(err)
		}
		p := meta.AsPartialObjectMetadata(&u)
		p.Kind, p.APIVersion = "PartialObjectMetadata", "meta.k8s.io/v1"
		want, err := stdjson.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendPartial(nil, src, "meta.k8s.io/v1")
		if diff := cmp.Diff(string(want), string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", f.Name, err, diff)
		}
	}
}
