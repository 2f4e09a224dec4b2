package proto

import (
	"bytes"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAppendUnmanaged(t *testing.T) {
	managed := []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`)}, {Manager: string(make([]byte, 300))}}
	for _, o := range []corev1.ReplicationController{
		{},
		{ObjectMeta: metav1.ObjectMeta{ManagedFields: managed}},
		{ObjectMeta: metav1.ObjectMeta{Name: "n", Finalizers: []string{"f"}, ManagedFields: managed[:1]}, Spec: corev1.ReplicationControllerSpec{
			// That of the template is a part of the spec.
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{ManagedFields: managed}},
		}},
	} {
		src := raw(t, &o)
		o.ManagedFields = nil
		want := raw(t, &o)
		got, err := AppendWithoutManagedFields([]byte("x"), src)
		if err != nil || string(got) != "x"+string(want) {
			t.Errorf("got %x, %v, want %x", got, err, want)
		}
		if n, err := SizeWithoutManagedFields(src); n != len(want) || err != nil {
			t.Errorf("size %d, %v, want %d", n, err, len(want))
		}
	}
}

func TestAppendUnmanagedRefuses(t *testing.T) {
	for s, want := range map[string]error{
		"\x0a\x09":                 ErrTruncated,
		"\x08\x01":                 ErrWireType,
		"\x0a\x02\x8a\x01":         ErrTruncated, // in managedFields
		"\x0a\x00\x0b":             ErrTag,
		"\x12\x00\x0a\x02\x0a\x09": ErrTruncated,
	} {
		if got, err := AppendWithoutManagedFields([]byte("x"), []byte(s)); !errors.Is(err, want) || !bytes.Equal(got, []byte("x")) {
			t.Errorf("%q: %q, %v, want %v", s, got, err, want)
		}
		if _, err := SizeWithoutManagedFields([]byte(s)); !errors.Is(err, want) {
			t.Errorf("size of %q: %v, want %v", s, err, want)
		}
	}
}

// Whatever the bytes, the size is that of what is appended.
func FuzzAppendUnmanaged(f *testing.F) {
	f.Add([]byte("\x0a\x05\x0a\x01n\x8a\x01\x00"))
	f.Add([]byte("\x0a\x03\x8a\x01\x00\x0a\x00\x12\x00"))
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := AppendWithoutManagedFields(nil, src)
		n, sizeErr := SizeWithoutManagedFields(src)
		if (err == nil) != (sizeErr == nil) || err == nil && n != len(got) {
			t.Fatalf("%x: %x, %v; size %d, %v", src, got, err, n, sizeErr)
		}
		if again, err2 := AppendWithoutManagedFields(nil, got); err == nil && (err2 != nil || !bytes.Equal(again, got)) {
			t.Fatalf("%x: %x, again %x, %v", src, got, again, err2)
		}
	})
}
