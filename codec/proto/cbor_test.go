package proto

import (
	"bytes"
	"reflect"
	"testing"

	fxcbor "github.com/fxamacker/cbor/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kcbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor"

	"sluice/codec/cbor"
)

// plainCBOR decodes without the conversions of the apiserver's profile: byte strings, tags,
// integers and floats remain distinct.
var plainCBOR = func() fxcbor.DecMode {
	m, err := fxcbor.DecOptions{MapKeyByteString: fxcbor.MapKeyByteStringAllowed, MaxNestedLevels: 10000}.DecMode()
	if err != nil {
		panic(err)
	}
	return m
}()

// cborOracle decodes raw as the apiserver does and encodes it with apimachinery's CBOR serializer,
// without the self-described tag.
func cborOracle(t testing.TB, m *Schema, raw []byte) ([]byte, error) {
	t.Helper()
	obj := newObject(t, m.APIVersion, m.Kind)
	if err := obj.Unmarshal(raw); err != nil {
		return nil, err
	}
	setNestedTypeMeta(obj)
	gv, err := schema.ParseGroupVersion(m.APIVersion)
	if err != nil {
		t.Fatal(err)
	}
	obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(m.Kind))
	var b bytes.Buffer
	if err := kcbor.NewSerializer(nil, nil).Encode(obj, &b); err != nil {
		return nil, err
	}
	return bytes.TrimPrefix(b.Bytes(), []byte(cbor.SelfDescribed)), nil
}

// checkCBOR compares AppendCBOR with the oracle by value, and by length: equal values have equal
// lengths if every head is as short as possible.
func checkCBOR(t testing.TB, m *Schema, raw []byte) {
	t.Helper()
	want, err := cborOracle(t, m, raw)
	got, err2 := m.AppendCBOR(nil, raw)
	if err != nil || err2 != nil {
		if err != nil && err2 != nil {
			return
		}
		t.Fatalf("%s %s: oracle: %v, AppendCBOR: %v", m.APIVersion, m.Kind, err, err2)
	}
	var g, w any
	if err := plainCBOR.Unmarshal(got, &g); err != nil {
		t.Fatalf("%s %s: %v in %x", m.APIVersion, m.Kind, err, got)
	}
	if err := plainCBOR.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Fatalf("%s %s:\n got %q\nwant %q", m.APIVersion, m.Kind, g, w)
	}
	if len(got) != len(want) {
		t.Fatalf("%s %s: %d bytes, want %d", m.APIVersion, m.Kind, len(got), len(want))
	}
}

func TestGoldenFilesEncodeToTheSameCBOR(t *testing.T) { eachGolden(t, checkCBOR) }

func TestManagedFieldsEncodeToTheSameCBOR(t *testing.T) {
	for _, fields := range []string{
		`{"f:metadata":{"f:labels":{".":{},"f:app":{}},"f:name":{}},"f:spec":{"k:{\"name\":\"c\"}":{}}}`, `{"f:b":{},"f:a":{}}`, // not in order
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(fields)}}}}
		checkCBOR(t, mustLookup(t, "v1", "Pod"), raw(t, pod))
	}
}

func TestItemsLackTypeMeta(t *testing.T) {
	m := mustLookup(t, "v1", "ConfigMap")
	zero := raw(t, m.New())
	js, err := m.AppendJSONItem(nil, zero)
	if err != nil || string(js) != `{"metadata":{}}` {
		t.Errorf("%s, %v", js, err)
	}
	cb, err := m.AppendCBORItem(nil, zero)
	if err != nil || string(cb) != "\xa1\x48metadata\xa0" {
		t.Errorf("%x, %v", cb, err)
	}
}
