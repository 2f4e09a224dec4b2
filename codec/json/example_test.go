package json_test

import (
	"fmt"

	"sluice/codec/json"
)

func ExampleValue_Get() {
	pod := json.Value(`{"metadata":{"name":"web-0"},"spec":{"nodeName":"n1"}}`)
	name, _ := pod.Get("metadata", "name").Text()
	node, _ := pod.Get("spec", "nodeName").Text()
	fmt.Println(name, node, pod.Get("status", "phase") == nil)
	// Output: web-0 n1 true
}

func ExampleAppendWithoutManagedFields() {
	pod := []byte(`{"metadata":{"name":"web-0","managedFields":[{"manager":"kubectl"}]},"spec":{}}`)
	out, err := json.AppendWithoutManagedFields(nil, pod)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", out)
	// Output: {"metadata":{"name":"web-0"},"spec":{}}
}
