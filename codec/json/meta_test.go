package json

import (
	stdjson "encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/support/jsontest"
)

func TestParseObjectMetaReadsEveryKind(t *testing.T) {
	for _, f := range jsontest.Corpus(t) {
		var want struct {
			metav1.TypeMeta
			metav1.ObjectMeta `json:"metadata"`
		}
		if err := stdjson.Unmarshal(f.JSON, &want); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		for form, b := range map[string][]byte{"typed": f.JSON, "sorted": sorted(t, f.JSON)} {
			got, err := ParseObjectMeta(b)
			if err != nil {
				t.Fatalf("%s %s: %v", f.Name, form, err)
			}
			strs := []string{string(got.Namespace), string(got.Name), string(got.ResourceVersion)}
			if diff := cmp.Diff([]string{want.Namespace, want.Name, want.ResourceVersion}, strs); diff != "" {
				t.Errorf("%s %s: %s", f.Name, form, diff)
			}
			if diff := cmp.Diff(want.Labels, stringMap(t, got.Labels)); diff != "" {
				t.Errorf("%s %s labels: %s", f.Name, form, diff)
			}
			if diff := cmp.Diff(want.Annotations, stringMap(t, got.Annotations)); diff != "" {
				t.Errorf("%s %s annotations: %s", f.Name, form, diff)
			}
		}
	}
}

// sorted prints an object as the apiserver prints an unstructured one.
func sorted(t testing.TB, b []byte) []byte {
	t.Helper()
	out, err := stdjson.Marshal(oracle(t, b))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func stringMap(t testing.TB, v Value) (m map[string]string) {
	t.Helper()
	if v == nil {
		return nil
	}
	if err := stdjson.Unmarshal(v, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParseObjectMetaRefusesWrongTypes(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want error
	}{
		{`{}`, nil}, {`{"metadata":null}`, nil}, {`{"metadata":{"name":null,"labels":null}}`, nil},
		{`[]`, ErrNotObject}, {``, ErrNotObject}, {`null`, ErrNotObject},
		{`{"metadata":[]}`, ErrFieldType}, {`{"metadata":{"name":{}}}`, ErrFieldType}, {`{"metadata":{"labels":"a"}}`, ErrFieldType},
	} {
		if _, err := ParseObjectMeta([]byte(tt.in)); !errors.Is(err, tt.want) {
			t.Errorf("ParseObjectMeta(%s): %v, want %v", tt.in, err, tt.want)
		}
	}
}

func TestAppendWithResourceVersionChangesNothingElse(t *testing.T) {
	for _, f := range jsontest.Corpus(t) {
		if Value(f.JSON).Get("metadata", "resourceVersion") == nil {
			continue
		}
		got, err := AppendWithResourceVersion([]byte("x"), f.JSON, "4711")
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		old, _ := Value(f.JSON).Get("metadata", "resourceVersion").Text()
		want := "x" + strings.Replace(string(f.JSON), `"resourceVersion":"`+old+`"`, `"resourceVersion":"4711"`, 1)
		if string(got) != want {
			t.Errorf("%s: %s", f.Name, cmp.Diff(want, string(got)))
		}
	}
	for in, want := range map[string]error{`{}`: ErrNoField, `{"metadata":{}}`: ErrNoField, `[]`: ErrNoField, `{"metadata":1}`: ErrNoField} {
		if got, err := AppendWithResourceVersion([]byte("x"), []byte(in), "1"); !errors.Is(err, want) || string(got) != "x" {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}

func TestTypeMetaIsReplacedWhereverItIs(t *testing.T) {
	for _, tt := range []struct{ in, stripped, typed string }{
		{`{"kind":"A","apiVersion":"b","metadata":{},"spec":{}}`, `{"metadata":{},"spec":{}}`, `{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{}}`},
		{`{"metadata":{},"spec":{}}`, `{"metadata":{},"spec":{}}`, `{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{}}`},
		{`{"apiVersion":"b","a":1,"kind":"A","x":2,"y":3}`, `{"a":1,"x":2,"y":3}`, `{"kind":"Pod","apiVersion":"v1","a":1,"x":2,"y":3}`},
		{`{"a":1,"kind":"A"}`, `{"a":1}`, `{"kind":"Pod","apiVersion":"v1","a":1}`},
		{`{"kind":"A","apiVersion":"b"}`, `{}`, `{"kind":"Pod","apiVersion":"v1"}`},
		{`{}`, `{}`, `{"kind":"Pod","apiVersion":"v1"}`},
		{`{ "kind" : "A" , "x" : 1 }`, `{"x":1}`, `{"kind":"Pod","apiVersion":"v1","x":1}`},
	} {
		if got, err := AppendWithoutTypeMeta([]byte("-"), []byte(tt.in)); err != nil || string(got) != "-"+tt.stripped {
			t.Errorf("AppendWithoutTypeMeta(%s) = %s, %v", tt.in, got, err)
		}
		if got, err := AppendWithTypeMeta([]byte("-"), []byte(tt.in), "v1", "Pod"); err != nil || string(got) != "-"+tt.typed {
			t.Errorf("AppendWithTypeMeta(%s) = %s, %v", tt.in, got, err)
		}
	}
	for _, in := range []string{"", "[]", `{"a":1`, `{"kind":"A","apiVersion":"b","x":1`} {
		if got, err := AppendWithoutTypeMeta([]byte("-"), []byte(in)); err == nil || string(got) != "-" {
			t.Errorf("AppendWithoutTypeMeta(%s) = %s, %v", in, got, err)
		}
	}
}
