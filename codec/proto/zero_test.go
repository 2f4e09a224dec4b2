package proto

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestZeroObjectIsThatOfTheGoType compares with the typed object that the apiserver makes for a bookmark.
func TestZeroObjectIsThatOfTheGoType(t *testing.T) {
	n := 0
	for apiVersion, kind := range kinds {
		obj, ok := newObject(t, apiVersion, kind).(interface {
			message
			metav1.Object
		})
		if !ok {
			continue
		}
		n++
		m := mustLookup(t, apiVersion, kind)
		if got, want := m.AppendZero(nil), raw(t, obj); !bytes.Equal(got, want) {
			t.Errorf("%s %s: got %x, want %x", apiVersion, kind, got, want)
		}
	}
	if n < 150 {
		t.Errorf("only %d kinds have metadata", n)
	}
}
