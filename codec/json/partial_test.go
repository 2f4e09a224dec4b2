package json

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"sluice/test/support/jsontest"
)

// partial is the oracle: it decodes into metav1.PartialObjectMetadata and encodes that.
func partial(obj []byte) ([]byte, error) {
	var p metav1.PartialObjectMetadata
	if err := kjson.UnmarshalCaseSensitivePreserveInts(obj, &p); err != nil {
		return nil, err
	}
	p.Kind, p.APIVersion = "PartialObjectMetadata", "meta.k8s.io/v1"
	return stdjson.Marshal(p)
}

func checkPartial(t *testing.T, obj []byte) {
	t.Helper()
	want, wantErr := partial(obj)
	got, err := AppendPartialObjectMetadata([]byte("x"), obj, "meta.k8s.io/v1")
	if wantErr != nil {
		if err == nil {
			t.Errorf("%s: %s, want error %v", obj, got, wantErr)
		}
		return
	}
	if err != nil || string(got) != "x"+string(want) {
		t.Errorf("%s: %v, %s", obj, err, cmp.Diff("x"+string(want), string(got)))
	}
}

func TestPartialObjectMetadataOfEveryKindEqualsApimachinery(t *testing.T) {
	for _, f := range jsontest.Corpus(t) {
		checkPartial(t, f.JSON)
		checkPartial(t, sorted(t, f.JSON))
		var indented bytes.Buffer
		if err := stdjson.Indent(&indented, f.JSON, "", "\t"); err != nil {
			t.Fatal(err)
		}
		checkPartial(t, indented.Bytes())
	}
}

func TestPartialObjectMetadataOfRandomMetadataEqualsApimachinery(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 20000 {
		checkPartial(t, randomMetadata(r))
		if t.Failed() {
			return
		}
	}
}

// randomMetadata returns an object whose metadata has fields in random order, mostly of the right
// types.
func randomMetadata(r *rand.Rand) []byte {
	text := func() string { return string(AppendString(nil, jsontest.Text(r))) }
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	times := func() string {
		return pick(`"2024-02-29T01:02:03Z"`, `"2024-05-06T23:59:59Z"`, `"2024-12-31T01:02:03.456+02:00"`, `"0001-01-01T00:00:00Z"`, `null`, `"2024-05-06T07:08:09-01:00"`, `"1969-12-31T23:59:59Z"`)
	}
	object := func(n int, member func() (string, string)) string {
		var b strings.Builder
		for i := range r.IntN(n) {
			k, v := member()
			b.WriteString(pick(",", ", ", ",\n")[:min(i, 1)] + k + pick(":", " : ", ": ") + v)
		}
		return "{" + strings.TrimPrefix(b.String(), " ") + "}"
	}
	list := func(element func() string) string {
		var l []string
		for range r.IntN(4) {
			l = append(l, element())
		}
		return "[" + strings.Join(l, pick(",", " , ")) + "]"
	}
	stringMap := func() string {
		return object(5, func() (string, string) { return text(), pick(text(), text(), text(), "null") })
	}
	members := func(names map[string]func() string) string {
		var l []string
		for name, f := range names {
			if r.IntN(3) > 0 {
				l = append(l, `"`+name+`":`+f())
			}
		}
		r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		return "{" + strings.Join(l, ",") + "}"
	}
	orNull := func(s string) string {
		if r.IntN(12) == 0 {
			return "null"
		}
		return s
	}
	str := func() string { return orNull(text()) }
	boolean := func() string { return pick("true", "false", "null") }
	number := func() string { return pick("0", "1", "-5", "9223372036854775807", "null", "-0") }
	owner := func() string {
		return orNull(members(map[string]func() string{"apiVersion": str, "kind": str, "name": str, "uid": str, "controller": boolean, "blockOwnerDeletion": boolean, "other": str}))
	}
	managed := func() string {
		return orNull(members(map[string]func() string{
			"manager": str, "operation": str, "apiVersion": str, "time": times, "fieldsType": str, "subresource": str, "other": str,
			"fieldsV1": func() string { return pick("null", "{}", " { \"f:a\" : { } } ", string(jsontest.RandomObject(r, 3))) },
		}))
	}
	wrong := func(f func() string) func() string {
		return func() string {
			if r.IntN(150) == 0 {
				return pick("1", `"a"`, "true", "{}", "[]", `[1]`, `{"a":1}`, `1.5`, `"2024-02-30T00:00:00Z"`, `[[]]`)
			}
			return f()
		}
	}
	fields := map[string]func() string{
		"name": str, "generateName": str, "namespace": str, "selfLink": str, "uid": str, "resourceVersion": str, "generation": number,
		"creationTimestamp": times, "deletionTimestamp": times, "deletionGracePeriodSeconds": number, "labels": stringMap, "annotations": stringMap,
		"ownerReferences": func() string { return orNull(list(owner)) }, "finalizers": func() string { return orNull(list(str)) },
		"managedFields": func() string { return orNull(list(managed)) }, "clusterName": str, "Name": str,
	}
	for name, f := range fields {
		fields[name] = wrong(f)
	}
	return []byte(members(map[string]func() string{
		"kind": func() string { return `"Foo"` }, "apiVersion": func() string { return `"ex.io/v1"` }, "spec": func() string { return string(jsontest.Random(r, 3)) },
		"metadata": func() string { return members(fields) },
	}))
}

func TestPartialObjectMetadataRefusesWrongTypes(t *testing.T) {
	for in, want := range map[string]error{
		``: ErrNotObject, `[]`: ErrNotObject, `{"metadata":1}`: ErrFieldType, `{"metadata":{"name":1}}`: ErrFieldType, `{"metadata":{"name":"a"`: ErrSyntax, `{"a":1`: ErrSyntax,
		`{"metadata":{"labels":{"a":{}}}}`: ErrFieldType, `{"metadata":{"ownerReferences":[1]}}`: ErrFieldType, `{"metadata":{"generation":1.0}}`: ErrFieldType,
	} {
		if got, err := AppendPartialObjectMetadata([]byte("x"), []byte(in), "v"); !errors.Is(err, want) || string(got) != "x" {
			t.Errorf("%s: %s, %v, want %v", in, got, err, want)
		}
	}
}

func FuzzMetadataOnly(f *testing.F) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 20 {
		f.Add(randomMetadata(r))
	}
	f.Add([]byte(`{"metadata":{"name":"a","labels":{"b":"\u003c","a":null},"creationTimestamp":"2024-01-01T00:00:00+01:00","managedFields":[{"fieldsV1":{"f:a": {}}}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !jsontext.Value(b).IsValid() { // strictly: no duplicate names, all UTF-8
			AppendPartialObjectMetadata(nil, b, "meta.k8s.io/v1")
			return
		}
		if Value(bytes.TrimSpace(b)).Kind() != Object {
			return
		}
		checkPartial(t, b)
		if m, err := ParseObjectMeta(b); err == nil {
			var want metav1.PartialObjectMetadata
			if kjson.UnmarshalCaseSensitivePreserveInts(b, &want) == nil && (want.Name != string(m.Name) || want.Namespace != string(m.Namespace) || want.ResourceVersion != string(m.ResourceVersion) || want.Kind != string(m.Kind)) {
				t.Errorf("%+v, want %+v", m, want)
			}
		}
	})
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
		got, err := AppendPartialObjectMetadata(nil, src, "meta.k8s.io/v1")
		if diff := cmp.Diff(string(want), string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", f.Name, err, diff)
		}
	}
}
