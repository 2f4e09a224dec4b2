package cbor_test

import (
	"fmt"

	"sluice/codec/cbor"
)

func ExampleAppendFromJSON() {
	item, err := cbor.AppendFromJSON([]byte(cbor.SelfDescribed), []byte(`{"replicas":3,"ratio":1.0}`))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%x\n", item)
	back, err := cbor.AppendJSON(nil, item)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", back)
	// Output:
	// d9d9f7a245726174696ff93c00487265706c6963617303
	// {"ratio":1.0,"replicas":3}
}

// A list is written item by item. Its items have no self-described tag.
func ExampleAppendListHead() {
	list, err := cbor.AppendListHead(nil, "v1", "PodList", []byte(`{"resourceVersion":"7"}`), 2)
	if err != nil {
		panic(err)
	}
	for _, pod := range []string{`{"metadata":{"name":"a"}}`, `{"metadata":{"name":"b"}}`} {
		if list, err = cbor.AppendFromJSON(list, []byte(pod)); err != nil {
			panic(err)
		}
	}
	out, err := cbor.AppendJSON(nil, list)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", out)
	// Output: {"apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"kind":"PodList","metadata":{"resourceVersion":"7"}}
}
