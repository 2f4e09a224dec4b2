package main

import (
	"bytes"
	"encoding/binary"
)

// counter counts the frames of a watch stream without decoding them.
type counter interface {
	// count returns how many frames end in the next piece of the stream.
	count(p []byte) int
}

// lines counts JSON events: one a line.
type lines struct{}

func newLines() counter { return lines{} }

func (lines) count(p []byte) int { return bytes.Count(p, []byte{'\n'}) }

// frames counts events that are preceded by their length in four bytes.
type frames struct {
	head []byte // of a length that is not complete
	left int    // of the frame, beside the head
}

func newFrames() counter { return &frames{} }

func (f *frames) count(p []byte) (n int) {
	for len(p) > 0 {
		if f.left == 0 {
			take := min(4-len(f.head), len(p))
			f.head, p = append(f.head, p[:take]...), p[take:]
			if len(f.head) < 4 {
				return n
			}
			f.left = int(binary.BigEndian.Uint32(f.head))
			f.head = f.head[:0]
		}
		take := min(f.left, len(p))
		if f.left -= take; f.left == 0 {
			n++
		}
		p = p[take:]
	}
	return n
}
