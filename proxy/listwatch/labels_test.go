package listwatch

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/cache/tree"
	"sluice/proxy/discovery"
)

// The many labels of an object are parts of its data, and not of the buffer from which it was read.
func TestManyLabelsArePartsOfTheObject(t *testing.T) {
	const many = 500
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", ResourceVersion: "3", Labels: map[string]string{}}}
	inJSON := `{"metadata":{"namespace":"a","name":"x","resourceVersion":"3","labels":{`
	for i := range many {
		key, value := fmt.Sprintf("example.com/key-%06d", i), fmt.Sprintf("value-%06d", i)
		object.Labels[key] = value
		inJSON += fmt.Sprintf("%q:%q,", key, value)
	}
	inProtobuf, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	object.Labels["z"] = `"quoted"`
	s := newSession(&Client{}, &discovery.Description{})
	for _, test := range []struct {
		name     string
		encoding encoding
		data     string
		labels   int
		copied   int64
	}{
		{"Protobuf", protobufEncoding{}, string(inProtobuf), many, 0},
		{"JSON", jsonEncoding{}, inJSON + `"z":"\"quoted\""}}}`, many + 1, int64(len(object.Labels["z"]))},
	} {
		buffer := []byte(test.data)
		o, err := s.object(test.encoding, buffer)
		if err != nil {
			t.Fatal(err)
		}
		clear(buffer)
		if len(o.Labels) != test.labels || string(o.Data) != test.data {
			t.Errorf("%s: %d labels, data of %d bytes", test.name, len(o.Labels), len(o.Data))
		}
		for _, l := range o.Labels {
			if value, ok := object.Labels[l.Key]; !ok || value != l.Value {
				t.Fatalf("%s: %q is %q, want %q", test.name, l.Key, l.Value, value)
			}
		}
		want := (&tree.Object{Key: o.Key, Data: o.Data}).Size() + 32*int64(test.labels) + test.copied
		if got := o.Size(); got != want {
			t.Errorf("%s: %d bytes of memory, want %d", test.name, got, want)
		}
		if n := testing.AllocsPerRun(5, func() { _, _ = s.object(test.encoding, []byte(test.data)) }); n > 30 {
			t.Errorf("%s: %v allocations", test.name, n)
		}
	}
}
