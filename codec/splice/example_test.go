package splice_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"sluice/codec/splice"
)

// Two responses share the compressed block of one object.
func ExampleStream() {
	object := splice.Gzip.Compress(nil, []byte(`{"metadata":{"name":"a"}}`))
	for _, prefix := range []string{`{"type":"ADDED","object":`, `{"type":"MODIFIED","object":`} {
		head, tail := splice.Gzip.Store(nil, []byte(prefix)), splice.Gzip.Store(nil, []byte("}\n"))
		stream := splice.NewStream(splice.Gzip)
		out := stream.Begin(nil)
		for _, b := range []*splice.Block{&head, &object, &tail} {
			stream.Add(b)
			out = append(out, b.Data...)
		}
		out = stream.End(out)

		r, err := gzip.NewReader(bytes.NewReader(out))
		if err != nil {
			panic(err)
		}
		plain, err := io.ReadAll(r)
		fmt.Printf("%s%d bytes, %v\n", plain, stream.Plain(), err)
	}
	// Output:
	// {"type":"ADDED","object":{"metadata":{"name":"a"}}}
	// 52 bytes, <nil>
	// {"type":"MODIFIED","object":{"metadata":{"name":"a"}}}
	// 55 bytes, <nil>
}
