package proto_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/proto"
)

// marshal returns a ConfigMap as a raw message, as it is in lists and envelopes.
func marshal(name, resourceVersion string) []byte {
	raw, err := (&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: resourceVersion},
		Data:       map[string]string{"color": "blue"},
	}).Marshal()
	if err != nil {
		panic(err)
	}
	return raw
}

// An object is transcoded to the JSON that the apiserver would have sent.
func ExampleSchema_AppendJSON() {
	schema, _ := proto.Lookup("v1", "ConfigMap")

	js, err := schema.AppendJSON(nil, marshal("settings", "7"))
	fmt.Println(string(js), err)
	// Output:
	// {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","resourceVersion":"7"},"data":{"color":"blue"}} <nil>
}

// The values of field selectors are read without decoding the object.
func ExampleSchema_Field() {
	schema, _ := proto.Lookup("v1", "Pod")
	raw, err := (&corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1"}}).Marshal()
	if err != nil {
		panic(err)
	}

	fmt.Println(schema.Field(raw, "spec", "nodeName"))
	// Output: node-1 <nil>
}

// A response body is an envelope around one raw message.
func ExampleParseEnvelope() {
	body := proto.AppendEnvelope(nil, "v1", "ConfigMap", marshal("settings", "7"))

	envelope, err := proto.ParseEnvelope(body)
	if err != nil {
		panic(err)
	}
	meta, err := proto.ParseObjectMeta(envelope.Raw)
	fmt.Printf("%s %s %s at %s, %v\n", envelope.APIVersion, envelope.Kind, meta.Name, meta.ResourceVersion, err)
	// Output: v1 ConfigMap settings at 7, <nil>
}

// Items iterates over the raw objects of a raw list.
func ExampleItems() {
	list := proto.AppendItem(nil, marshal("a", "3"))
	list = proto.AppendItem(list, marshal("b", "5"))

	for item, err := range proto.Items(list) {
		if err != nil {
			panic(err)
		}
		meta, _ := proto.ParseObjectMeta(item)
		fmt.Printf("%s at %s\n", meta.Name, meta.ResourceVersion)
	}
	// Output:
	// a at 3
	// b at 5
}

// A DELETED event for an object that left a selector carries the previous object with a new
// version.
func ExampleAppendWithResourceVersion() {
	raw, err := proto.AppendWithResourceVersion(nil, marshal("settings", "7"), "8")
	if err != nil {
		panic(err)
	}
	meta, err := proto.ParseObjectMeta(raw)
	fmt.Printf("%s at %s, %v\n", meta.Name, meta.ResourceVersion, err)
	// Output: settings at 8, <nil>
}
