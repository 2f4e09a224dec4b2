package codec_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"

	"sluice/codec"
	"sluice/codec/splice"
)

var foos = &codec.Resource{
	Group: "ex.io", Version: "v1", Resource: "foos", Kind: "Foo", ListKind: "FooList",
	Style: codec.Unstructured, Source: codec.JSON,
}

func ExampleNegotiate() {
	d := codec.Negotiate(
		codec.Client{Accept: "application/yaml;q=0.5, application/json;as=Table;g=meta.k8s.io;v=v1"},
		codec.Target{Verb: codec.List, Kind: "Pod"},
	)
	fmt.Printf("%+v\n", d.Format)

	d = codec.Negotiate(codec.Client{Accept: "text/html"}, codec.Target{Kind: "Pod"})
	fmt.Printf("%s\n", d.Refusal.Append(nil, d.Errors))
	// Output:
	// {Encoding:json Shape:table MetaVersion:meta.k8s.io/v1 Include:0 Pretty:false Unmanaged:false}
	// {
	//   "kind": "Status",
	//   "apiVersion": "v1",
	//   "metadata": {},
	//   "status": "Failure",
	//   "message": "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf",
	//   "reason": "NotAcceptable",
	//   "details": {},
	//   "code": 406
	// }
}

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
	meta := codec.ListMeta{ResourceVersion: "12"}
	out := w.AppendListHead(nil, meta, len(stored), len(items))
	out = append(out, items...)
	out = w.AppendListTail(out, meta, len(stored))
	out, _ = w.AppendBookmark(out, "12", true, true)
	_, _ = os.Stdout.Write(out)
	// Output:
	// {"apiVersion":"ex.io/v1","items":[{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"a","resourceVersion":"7"}},{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"b","resourceVersion":"9"}}],"kind":"FooList","metadata":{"continue":"","resourceVersion":"12"}}
	// {"type":"BOOKMARK","object":{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"12"}}}
}

// A list compressed in two parts, of which the next list can use again what has not changed.
func ExampleWriter_compressed() {
	const coding = splice.Gzip
	first := coding.Compress(nil, []byte(`{"metadata":{"name":"a"}}`))
	second := coding.Compress(nil, []byte(`{"metadata":{"name":"b"}}`))
	head, comma, tail := coding.Store(nil, []byte(`{"items":[`)), coding.Store(nil, []byte(",")), coding.Store(nil, []byte("]}\n"))
	stream := splice.NewStream(coding)
	out := stream.Begin(nil)
	for _, b := range []*splice.Block{&head, &first, &comma, &second, &tail} {
		stream.Add(b)
		out = append(out, b.Data...)
	}
	out = stream.End(out)
	r, _ := gzip.NewReader(bytes.NewReader(out))
	plain, _ := io.ReadAll(r)
	fmt.Print(string(plain))
	// Output: {"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}
}
