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

// A list is indented in pieces: up to its first item, each item, and the rest.
func ExampleAppendIndent() {
	out := json.AppendIndent(nil, []byte(`{"kind":"PodList","items":[`), 0)
	out = json.AppendIndent(out, []byte(`{"metadata":{"name":"web-0"}}`), 2)
	out = json.AppendIndent(out, []byte(`]}`), 2)
	fmt.Printf("%s\n", out)
	// Output:
	// {
	//   "kind": "PodList",
	//   "items": [
	//     {
	//       "metadata": {
	//         "name": "web-0"
	//       }
	//     }
	//   ]
	// }
}
