package proto

import (
	"bytes"
	"errors"
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

func TestParseEnvelopeRejectsInvalidBytes(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"empty":           {"", ErrMagic},
		"short magic":     {"k8s", ErrMagic},
		"JSON":            {"{\"a\":1}", ErrMagic},
		"lying length":    {"k8s\x00\x12\x05abc", ErrTruncated},
		"huge length":     {"k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", ErrTruncated},
		"overflow":        {"k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", ErrVarint},
		"cut unknown":     {"k8s\x00\x2a\x01", ErrTruncated},
		"wrong wire type": {"k8s\x00\x10\x00", ErrWireType},
		"group":           {"k8s\x00\x0b", ErrTag},
		"field zero":      {"k8s\x00\x02\x00", ErrTag},
		"cut tag":         {"k8s\x00\x80", ErrTruncated},
		"cut type meta":   {"k8s\x00\x0a\x02\x0a\x09", ErrTruncated},
	} {
		if _, err := ParseEnvelope([]byte(c.in)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
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
}

func TestParseEventRejectsInvalidBytes(t *testing.T) {
	for s, want := range map[string]error{
		"\x0a\x05ADD":      ErrTruncated,
		"\x08\x01":         ErrWireType,
		"\x1a\x01":         ErrTruncated,
		"\x12\x02\x12\x01": ErrTruncated,
		"\x12\x02\x08\x00": ErrWireType,
		"\x12\x02\x0a\x09": ErrTruncated,
	} {
		if _, _, err := ParseEvent([]byte(s)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", s, err, want)
		}
	}
}
