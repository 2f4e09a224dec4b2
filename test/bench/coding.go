package main

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// decoded reads what was written in a content coding; the function gives up what that takes.
func decoded(in io.Reader, coding string) (io.Reader, func(), error) {
	switch coding {
	case identity:
		return in, func() {}, nil
	case "gzip":
		r, err := gzip.NewReader(in)
		return r, func() {}, err
	case "zstd":
		r, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, err
		}
		return r, r.Close, nil
	}
	return nil, nil, fmt.Errorf("content coding %q", coding)
}

// identity is what an answer without a content coding is in.
const identity = "identity"

// codingOf is that of an answer.
func codingOf(header interface{ Get(string) string }) string {
	if c := header.Get("Content-Encoding"); c != "" {
		return c
	}
	return identity
}
