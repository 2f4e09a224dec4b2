package main

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// decompress returns a reader of the decompressed content and a function that releases the decoder.
func decompress(in io.Reader, coding string) (io.Reader, func()) {
	switch coding {
	case identity:
		return in, func() {}
	case "gzip":
		return must(gzip.NewReader(in)), func() {}
	case "zstd":
		r := must(zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true)))
		return r, r.Close
	}
	panic(failure{fmt.Errorf("content coding %q", coding)})
}

// identity is the content coding of a response without Content-Encoding.
const identity = "identity"

// codingOf returns the content coding of a response.
func codingOf(header interface{ Get(string) string }) string {
	if c := header.Get("Content-Encoding"); c != "" {
		return c
	}
	return identity
}

// encodings are the content encodings of lists.
var encodings = []string{identity, "gzip", "zstd"}
