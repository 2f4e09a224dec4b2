package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCountersAcceptPiecesOfAnySize splits a stream of three frames and part of a fourth.
func TestCountersAcceptPiecesOfAnySize(t *testing.T) {
	for _, tc := range []struct {
		name   string
		new    func() counter
		stream []byte
	}{
		{"lines", newLines, []byte("{\"a\":1}\n\n{}\n{\"cut")},
		{"frames", newFrames, []byte("\x00\x00\x00\x03abc\x00\x00\x00\x00\x00\x00\x01\x00" + string(bytes.Repeat([]byte{7}, 256)) + "\x00\x00\x00\x02x")},
		{"items", newItems, []byte(
			"\xd9\xd9\xf7\xa2\x44type\x45ADDED\x46object\xd9\xd9\xf7\xa2\x41a\x83\x01\x80\xa0\x41b\x58\x20" + strings.Repeat("x", 32) +
				"\xd9\xd9\xf7\xa1\x41c\x82\x1b\x00\x00\x00\x01\x00\x00\x00\x00\xfb\x40\x09\x21\xfb\x54\x44\x2d\x18" +
				"\xd9\xd9\xf7\xa1\x40\x39\x00\xff" +
				"\xd9\xd9\xf7\xa1\x41d")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for size := 1; size <= len(tc.stream); size++ {
				c, n := tc.new(), 0
				for rest := tc.stream; len(rest) > 0; {
					piece := rest[:min(size, len(rest))]
					rest = rest[len(piece):]
					n += c.count(piece)
				}
				if n != 3 {
					t.Errorf("%d frames in pieces of %d bytes", n, size)
				}
			}
		})
	}
}
