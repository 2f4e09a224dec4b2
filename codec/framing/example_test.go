package framing_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/framing"
)

// The head of a list of custom resources is sorted, so its kind and metadata are in the tail.
func ExampleJSON() {
	f := framing.JSON{List: framing.List{APIVersion: "ex.io/v1", Kind: "FooList", Unstructured: true}}
	meta := &metav1.ListMeta{ResourceVersion: "12"}
	out := f.AppendListHead(nil, meta, 1, 0)
	out, _ = f.AppendItem(out, []byte(`{"apiVersion":"ex.io/v1","kind":"Foo"}`), framing.Passthrough{})
	fmt.Printf("%s", f.AppendListTail(out, meta, 1))
	// Output: {"apiVersion":"ex.io/v1","items":[{"apiVersion":"ex.io/v1","kind":"Foo"}],"kind":"FooList","metadata":{"continue":"","resourceVersion":"12"}}
}

func ExampleJSON_AppendEvent() {
	var f framing.JSON
	out, _ := f.AppendEvent(nil, "DELETED", []byte(`{"kind":"Foo"}`), framing.Passthrough{}, true)
	fmt.Printf("%s", out)
	// Output: {"type":"DELETED","object":{"kind":"Foo"}}
}
