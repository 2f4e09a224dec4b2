package proto

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAppendWithResourceVersionKeepsEveryOtherByte(t *testing.T) {
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

func TestPartialObjectMetadataEqualsTheTypedObject(t *testing.T) {
	obj := &corev1.Pod{ObjectMeta: sampleMeta(), Spec: corev1.PodSpec{NodeName: "n"}}
	b, want := raw(t, obj), raw(t, &metav1.PartialObjectMetadata{ObjectMeta: obj.ObjectMeta})
	if got, err := PartialObjectMetadata(b); err != nil || !bytes.Equal(got, want) || &got[0] != &b[0] {
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
