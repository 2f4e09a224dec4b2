package main

import (
	"bytes"
	"testing"
)

// TestCounters cuts a stream of three frames, one of them empty, into pieces of every size.
func TestCounters(t *testing.T) {
	for _, tc := range []struct {
		name   string
		new    func() counter
		stream []byte
	}{
		{"lines", newLines, []byte("{\"a\":1}\n\n{}\n{\"cut")},
		{"frames", newFrames, []byte("\x00\x00\x00\x03abc\x00\x00\x00\x00\x00\x00\x01\x00" + string(bytes.Repeat([]byte{7}, 256)) + "\x00\x00\x00\x02x")},
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
