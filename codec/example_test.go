package codec_test

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec"
)

var foos = &codec.Resource{
	Group: "ex.io", Version: "v1", Resource: "foos", Kind: "Foo", ListKind: "FooList",
	Style: codec.Unstructured, Source: codec.JSON,
}

// A list is a head, the items with separators, and a tail. The items come first, because the head of a list
// in Protobuf contains their size.
func ExampleWriter() {
	w, err := codec.NewWriter(foos, codec.Format{})
	if err != nil {
		panic(err)
	}
	stored := [][]byte{
		[]byte(`{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"a","resourceVersion":"7"}}`),
		[]byte(`{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"b","resourceVersion":"9"}}`),
	}
	var items []byte
	for i, src := range stored {
		if i > 0 {
			items = append(items, w.Separator()...)
		}
		if items, err = w.AppendItem(items, src); err != nil {
			panic(err)
		}
	}
	meta := metav1.ListMeta{ResourceVersion: "12"}
	out := w.AppendListHead(nil, meta, len(stored), len(items))
	out = append(out, items...)
	out = w.AppendListTail(out, meta, len(stored))
	fmt.Printf("%s", out)
	// Output:
	// {"apiVersion":"ex.io/v1","items":[{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"a","resourceVersion":"7"}},{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"b","resourceVersion":"9"}}],"kind":"FooList","metadata":{"continue":"","resourceVersion":"12"}}
}

// The events of a watch, with the bookmark that ends its initial events.
func ExampleWriter_AppendEvent() {
	w, err := codec.NewWriter(foos, codec.Format{Shape: codec.Metadata})
	if err != nil {
		panic(err)
	}
	stored := []byte(`{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"a","resourceVersion":"7"},"spec":{}}`)
	out, err := w.AppendEvent(nil, "ADDED", stored, true)
	if err != nil {
		panic(err)
	}
	if out, err = w.AppendBookmark(out, "12", true, false); err != nil {
		panic(err)
	}
	fmt.Printf("%s", out)
	// Output:
	// {"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","resourceVersion":"7"}}}
	// {"type":"BOOKMARK","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"true"}}}}
}

func ExampleAppendStatus() {
	err := apierrors.NewNotFound(foos.GroupResource(), "a")
	fmt.Printf("%s", codec.AppendStatus(nil, &err.ErrStatus, codec.Format{}))
	// Output: {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"foos.ex.io \"a\" not found","reason":"NotFound","details":{"name":"a","group":"ex.io","kind":"foos"},"code":404}
}

func ExampleAppendFromJSON() {
	out, err := codec.AppendFromJSON(nil, []byte(`{"kind":"Foo","apiVersion":"ex.io/v1","spec":{"ports":[1,2]}}`), codec.YAML)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s", out)
	// Output:
	// apiVersion: ex.io/v1
	// kind: Foo
	// spec:
	//   ports:
	//   - 1
	//   - 2
}

// What a watch calls the state before a deletion is stored with the version of the deletion.
func ExampleResource_SetResourceVersion() {
	stored := []byte(`{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"a","resourceVersion":"7"}}`)
	deleted, err := foos.SetResourceVersion(nil, stored, "9")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s", deleted)
	// Output: {"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"a","resourceVersion":"9"}}
}
