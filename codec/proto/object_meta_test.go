package proto

import (
	"bytes"
	"errors"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func sampleMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "web-0", Namespace: "default", UID: types.UID("u-1"), ResourceVersion: "42", Generation: 3,
		CreationTimestamp: metav1.Time{Time: time.Unix(1700000000, 0)},
		Labels:            map[string]string{"app": "web", "tier": "", "z": "26"},
		Annotations:       map[string]string{"note": "x", "": "empty"},
		ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`)}},
	}
}

func TestObjectMeta(t *testing.T) {
	obj := &corev1.ConfigMap{ObjectMeta: sampleMeta(), Data: map[string]string{"a": "b"}}
	m, err := ParseObjectMeta(raw(t, obj))
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Name) != obj.Name || string(m.Namespace) != obj.Namespace || string(m.UID) != string(obj.UID) || string(m.ResourceVersion) != "42" {
		t.Errorf("%+v", m)
	}
	got := map[string]string{}
	for k, v := range m.Labels {
		got[string(k)] = string(v)
	}
	if !maps.Equal(got, obj.Labels) {
		t.Errorf("labels %v", got)
	}
	if v, ok := m.Annotation("note"); !ok || string(v) != "x" {
		t.Errorf("annotation %q %v", v, ok)
	}
	if v, ok := m.Annotation("none"); ok {
		t.Errorf("annotation %q", v)
	}
}

func TestObjectMetaMerges(t *testing.T) {
	first := raw(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"x": "1"}}})
	both := append(first, raw(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: "7", Annotations: map[string]string{"x": "2"}}})...)
	m, err := ParseObjectMeta(both)
	if err != nil || string(m.Name) != "b" {
		t.Errorf("%+v, %v", m, err)
	}
	if v, _ := m.Annotation("x"); string(v) != "2" {
		t.Errorf("annotation %q", v)
	}
	cut, err := PartialObjectMetadata(both)
	var pom metav1.PartialObjectMetadata
	if err != nil || pom.Unmarshal(cut) != nil || pom.Name != "b" || pom.Annotations["x"] != "2" {
		t.Errorf("%+v, %v", pom, err)
	}
}

// TestPartsOfMetadata: messages may come in parts, but each must be whole, even where joining them
// would make it so.
func TestPartsOfMetadata(t *testing.T) {
	for _, in := range []string{"\x0a\x02\x32\x02\x0a\x02\x3a\x00", "\x0a\x00\x0a\x02\x32\x07"} {
		if _, err := ParseObjectMeta([]byte(in)); !errors.Is(err, ErrTruncated) {
			t.Errorf("%q: %v", in, err)
		}
		if _, err := mustLookup(t, "v1", "Pod").AppendJSON(nil, []byte(in)); !errors.Is(err, ErrTruncated) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestSetResourceVersion(t *testing.T) {
	for _, meta := range []metav1.ObjectMeta{{}, sampleMeta()} {
		for _, rv := range []string{"", "1", "1234567890123456789", string(make([]byte, 300))} {
			obj := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "b"}}
			b := raw(t, obj)
			obj.ResourceVersion = rv
			got, err := AppendWithResourceVersion([]byte("kept"), b, rv)
			if err != nil || !bytes.Equal(got, append([]byte("kept"), raw(t, obj)...)) {
				t.Errorf("%q: %x, %v", rv, got, err)
			}
		}
	}
}

func TestSetResourceVersionOddBytes(t *testing.T) {
	for _, in := range []string{
		"",                                 // nothing at all
		"\x12\x00",                         // no metadata
		"\x0a\x00",                         // empty metadata
		"\x0a\x02\x38\x01\x0a\x02\x0a\x00", // metadata twice, no version
		"\x0a\x06\x32\x01a\x32\x01b",       // version twice
		"\x12\x00\x0a\x03\x32\x01a",        // metadata last
	} {
		got, err := AppendWithResourceVersion(nil, []byte(in), "99")
		m, err2 := ParseObjectMeta(got)
		if err != nil || err2 != nil || string(m.ResourceVersion) != "99" {
			t.Errorf("%q: %q, %v, %v", in, m.ResourceVersion, err, err2)
		}
	}
	for in, want := range map[string]error{
		"\x0a\x05":         ErrTruncated,
		"\x08\x05":         ErrWireType,
		"\x0a\x02\x30\x00": ErrWireType,
		"\x0a\x02\x32\x07": ErrTruncated,
	} {
		if _, err := AppendWithResourceVersion(nil, []byte(in), "1"); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
		if _, err := ParseObjectMeta([]byte(in)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
	}
}

func TestMetadataOnly(t *testing.T) {
	obj := &corev1.Pod{ObjectMeta: sampleMeta(), Spec: corev1.PodSpec{NodeName: "n"}}
	b, want := raw(t, obj), raw(t, &metav1.PartialObjectMetadata{ObjectMeta: obj.ObjectMeta})
	if got, err := PartialObjectMetadata(b); err != nil || !bytes.Equal(got, want) || &got[0] != &b[0] {
		t.Errorf("%x, %v", got, err)
	}
	if got, err := AppendPartialObjectMetadata(nil, b); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%x, %v", got, err)
	}
	for _, in := range []string{"", "\x0a\x00", "\x12\x00", "\x12\x00\x0a\x04\x0a\x02aa"} {
		got, err := PartialObjectMetadata([]byte(in))
		var pom metav1.PartialObjectMetadata
		if err != nil || pom.Unmarshal(got) != nil {
			t.Errorf("%q: %x, %v", in, got, err)
		}
	}
}

func TestMetaAllocatesNothing(t *testing.T) {
	b := raw(t, &corev1.Pod{ObjectMeta: sampleMeta()})
	dst := make([]byte, 0, 4096)
	guard := func(name string, f func()) {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	guard("ObjectMeta", func() {
		m, _ := ParseObjectMeta(b)
		m.Annotation("app")
		for range m.Labels {
			continue
		}
	})
	guard("AppendWithResourceVersion", func() { _, _ = AppendWithResourceVersion(dst, b, "12") })
	guard("PartialObjectMetadata", func() { _, _ = PartialObjectMetadata(b) })
	guard("AppendEvent", func() { AppendEvent(dst, "ADDED", "v1", "Pod", b) })
	list := AppendItem(AppendListMeta(nil, "1", "", nil, ""), b)
	guard("Items", func() {
		for item := range Items(list) {
			_ = item
		}
	})
}
