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
