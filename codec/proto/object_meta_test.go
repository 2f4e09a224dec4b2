package proto

import (
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

func TestObjectMetaEqualsTheTypedObject(t *testing.T) {
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

func TestMetadataInPartsIsRefused(t *testing.T) {
	part := raw(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	both := append(part, part...)
	if m, err := ParseObjectMeta(both); !errors.Is(err, ErrForm) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := PartialObjectMetadata(both); !errors.Is(err, ErrForm) {
		t.Error(err)
	}
}
