package proto

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
)

// encoded returns obj as apimachinery's protobuf serializer encodes it.
func encoded(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(obj, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// raw returns obj as a raw message.
func raw(t testing.TB, obj interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	b, err := obj.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

func TestEnvelopeEqualsApimachinery(t *testing.T) {
	cm := &corev1.ConfigMap{TypeMeta: typeMeta("v1", "ConfigMap"), Data: map[string]string{"a": "b"}}
	big := cm.DeepCopy()
	big.Data["big"] = string(make([]byte, 20000))
	for _, obj := range []interface {
		runtime.Object
		Marshal() ([]byte, error)
	}{cm, big, &metav1.Status{TypeMeta: typeMeta("v1", "Status")}, &corev1.ConfigMap{}} {
		want := encoded(t, obj)
		gvk := obj.GetObjectKind().GroupVersionKind()
		message := raw(t, obj)
		got := AppendEnvelope(nil, gvk.GroupVersion().String(), gvk.Kind, message)
		if !bytes.Equal(got, want) {
			t.Errorf("%v: got %x, want %x", gvk, got, want)
		}
		if n := envelopeSize(gvk.GroupVersion().String(), gvk.Kind, len(message)); n != len(want) {
			t.Errorf("%v: size %d, want %d", gvk, n, len(want))
		}
		u, err := ParseEnvelope(want)
		if err != nil || string(u.APIVersion) != gvk.GroupVersion().String() || string(u.Kind) != gvk.Kind || !bytes.Equal(u.Raw, message) {
			t.Errorf("%v: ParseEnvelope gave %q, %v", gvk, u, err)
		}
	}
}

func TestEventEqualsApimachinery(t *testing.T) {
	cm := &corev1.ConfigMap{TypeMeta: typeMeta("v1", "ConfigMap"), Data: map[string]string{"a": "b"}}
	big := cm.DeepCopy()
	big.Data["big"] = string(make([]byte, 70000))
	for _, obj := range []*corev1.ConfigMap{cm, big} {
		object := encoded(t, obj)
		want := frameOf(t, watch.Modified, object)
		if n := eventSize("MODIFIED", len(object)); n != len(want) {
			t.Errorf("size %d, want %d", n, len(want))
		}
		if got := AppendEvent(nil, "MODIFIED", "v1", "ConfigMap", raw(t, obj)); !bytes.Equal(got, want) {
			t.Errorf("AppendEvent: got %x, want %x", got, want)
		}
		typ, inner, err := ParseEvent(want[framePrefix:])
		if err != nil || string(typ) != "MODIFIED" || !bytes.Equal(inner, object) {
			t.Errorf("ParseEvent gave %q, %x, %v", typ, inner, err)
		}
	}
}

// frameOf returns a watch frame as the apiserver writes it.
func frameOf(t *testing.T, typ watch.EventType, object []byte) []byte {
	var b bytes.Buffer
	event := &metav1.WatchEvent{Type: string(typ), Object: runtime.RawExtension{Raw: object}}
	w := protobuf.LengthDelimitedFramer.NewFrameWriter(&b)
	if err := streaming.NewEncoder(w, protobuf.NewRawSerializer(nil, nil)).Encode(event); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A newer apiserver may send fields that are not compiled in.
func TestOuterFormsIgnoreUnknownFields(t *testing.T) {
	const unknown = "\x32\x01u" // field 6
	envelope := "k8s\x00" + unknown + "\x0a\x09" + unknown + "\x12\x04Kind" + "\x12\x01r"
	if u, err := ParseEnvelope([]byte(envelope)); err != nil || string(u.Kind) != "Kind" || string(u.Raw) != "r" {
		t.Errorf("envelope: %+v, %v", u, err)
	}
	event := unknown + "\x0a\x05ADDED" + "\x12\x06" + unknown + "\x0a\x01o"
	if typ, object, err := ParseEvent([]byte(event)); err != nil || string(typ) != "ADDED" || string(object) != "o" {
		t.Errorf("event: %q %q, %v", typ, object, err)
	}
	const number = "\x38\x07" // field 7
	list := []byte("\x0a\x0a" + unknown + "\x12\x03123" + number + unknown + "\x12\x01i" + number)
	if m, err := ParseListMeta(list); err != nil || string(m.ResourceVersion) != "123" {
		t.Errorf("metadata of a list: %+v, %v", m, err)
	}
	var items []string
	for item, err := range Items(list) {
		items = append(items, fmt.Sprintf("%s, %v", item, err))
	}
	if !slices.Equal(items, []string{"i, <nil>"}) {
		t.Errorf("items %q", items)
	}
}

func TestOuterFormsRejectInvalidBytes(t *testing.T) {
	parse := map[string]func(b []byte) error{
		"envelope":      func(b []byte) error { _, err := ParseEnvelope(b); return err },
		"event":         func(b []byte) error { _, _, err := ParseEvent(b); return err },
		"list metadata": func(b []byte) error { _, err := ParseListMeta(b); return err },
		"metadata":      func(b []byte) error { _, err := ParseObjectMeta(b); return err },
		"items": func(b []byte) (last error) {
			for _, err := range Items(b) {
				last = err
			}
			return last
		},
		"metadata to be changed": func(b []byte) error {
			got, err := AppendWithResourceVersion([]byte("kept"), b, "1")
			if string(got) != "kept" {
				t.Errorf("%q: %q is appended", b, got)
			}
			return err
		},
	}
	for _, row := range []struct {
		form, in string
		want     error // nil for any, as apimachinery's
	}{
		{"envelope", "", ErrMagic},
		{"envelope", "k8s", ErrMagic},
		{"envelope", "{\"a\":1}", ErrMagic},
		{"envelope", "k8s\x00\x12\x05abc", ErrTruncated},
		{"envelope", "k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", ErrTruncated},
		{"envelope", "k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", ErrVarint},
		{"envelope", "k8s\x00\x2a\x01", ErrTruncated},
		{"envelope", "k8s\x00\x10\x00", ErrWireType},
		{"envelope", "k8s\x00\x0b", ErrTag},
		{"envelope", "k8s\x00\x02\x00", ErrTag},
		{"envelope", "k8s\x00\x80", ErrTruncated},
		{"envelope", "k8s\x00\x0a\x02\x0a\x09", ErrTruncated},
		{"event", "\x0a\x05ADD", ErrTruncated},
		{"event", "\x08\x01", ErrWireType},
		{"event", "\x1a\x01", ErrTruncated},
		{"event", "\x12\x02\x12\x01", ErrTruncated},
		{"event", "\x12\x02\x08\x00", ErrWireType},
		{"event", "\x12\x02\x0a\x09", ErrTruncated},
		{"items", "\x0a\x00\x12\x09a", ErrTruncated},
		{"items", "\x0a\x00\x1a\x01", ErrTruncated},
		{"items", "\x0a\x00\x10\x00", ErrWireType},
		{"items", "\x0a\x00\x12\x00\x0f", ErrTag},
		{"list metadata", "\x0a\x09", nil},
		{"list metadata", "\x0a\x02\x32\x01", nil},
		{"list metadata", "\x0a\x02\x20", nil},
		{"list metadata", "\x0a\x02\x22\x00", nil},
		{"metadata", "\x0a\x05", ErrTruncated},
		{"metadata", "\x08\x05", ErrWireType},
		{"metadata", "\x0a\x02\x30\x00", ErrWireType},
		{"metadata", "\x0a\x02\x32\x07", ErrTruncated},
		{"metadata to be changed", "\x0a\x05", nil},
		{"metadata to be changed", "\x08\x05", nil},
		{"metadata to be changed", "\x0a\x02\x30\x00", nil},
		{"metadata to be changed", "\x0a\x02\x32\x07", nil},
	} {
		if err := parse[row.form]([]byte(row.in)); err == nil || row.want != nil && !errors.Is(err, row.want) {
			t.Errorf("%s %q: %v, want %v", row.form, row.in, err, row.want)
		}
	}
}
