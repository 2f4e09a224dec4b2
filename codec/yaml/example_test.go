package yaml_test

import (
	"fmt"

	"sluice/codec/yaml"
)

// A list is printed piece by piece, with its members in the order of their names.
func ExampleAppendItem() {
	out, err := yaml.AppendMember(nil, "apiVersion", []byte(`"v1"`))
	if err != nil {
		panic(err)
	}
	out = append(out, "items:\n"...)
	for _, pod := range []string{`{"spec":{},"metadata":{"name":"a"}}`, `{"metadata":{"name":"no"}}`} {
		if out, err = yaml.AppendItem(out, []byte(pod)); err != nil {
			panic(err)
		}
	}
	if out, err = yaml.AppendMember(out, "kind", []byte(`"PodList"`)); err != nil {
		panic(err)
	}
	fmt.Printf("%s", out)
	// Output:
	// apiVersion: v1
	// items:
	// - metadata:
	//     name: a
	//   spec: {}
	// - metadata:
	//     name: "no"
	// kind: PodList
}

// Aliases can expand a small body, so the length of the JSON is bounded.
func ExampleAppendJSON() {
	body := []byte("a: &text some text\nb: [*text, on, 010]\n")
	out, err := yaml.AppendJSON(nil, body, 1<<10)
	fmt.Printf("%s %v\n", out, err)
	_, err = yaml.AppendJSON(nil, body, 20)
	fmt.Println(err)
	// Output:
	// {"a":"some text","b":["some text",true,8]} <nil>
	// too large
}
