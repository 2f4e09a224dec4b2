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

// lines counts JSON events, one per line.
type lines struct{}

func newLines() counter { return lines{} }

func (lines) count(p []byte) int { return bytes.Count(p, []byte{'\n'}) }

// frames counts events that follow their length in four bytes.
type frames struct {
	head []byte // incomplete length of a frame
	left int    // bytes of the frame after the head
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

// items counts the items of a CBOR sequence (RFC 8742) by their heads (RFC 8949, section 3).
type items struct {
	head []byte   // incomplete head of a data item
	skip uint64   // remaining bytes of a string
	open []uint64 // missing data items of each open array, map and tag, innermost last
}

func newItems() counter { return &items{} }

func (c *items) count(p []byte) (n int) {
	for len(p) > 0 {
		var complete bool
		if c.skip > 0 {
			take := min(c.skip, uint64(len(p)))
			c.skip, p = c.skip-take, p[take:]
			complete = c.skip == 0
		} else {
			c.head, p = append(c.head, p[0]), p[1:]
			complete = len(c.head) == headSize(c.head[0]) && c.begin()
		}
		if complete && c.end() {
			n++
		}
	}
	return n
}

// begin processes a complete head and reports whether it completes its data item.
func (c *items) begin() bool {
	major, value := c.head[0]>>5, uint64(c.head[0]&0x1f)
	if len(c.head) > 1 {
		value = 0
	}
	for _, b := range c.head[1:] {
		value = value<<8 | uint64(b)
	}
	c.head = c.head[:0]
	switch major {
	case 2, 3: // strings
		c.skip = value
		return value == 0
	case 4: // arrays
	case 5: // maps
		value *= 2
	case 6: // tags
		value = 1
	default:
		return true
	}
	if value > 0 {
		c.open = append(c.open, value)
	}
	return value == 0
}

// end processes a complete data item and reports whether it completes an item of the sequence.
func (c *items) end() bool {
	for i := len(c.open) - 1; i >= 0; i-- {
		if c.open[i]--; c.open[i] > 0 {
			return false
		}
		c.open = c.open[:i]
	}
	return true
}

// headSize is the length of a head by its first byte. The apiserver writes definite lengths only.
func headSize(first byte) int {
	switch first & 0x1f {
	case 24:
		return 2
	case 25:
		return 3
	case 26:
		return 5
	case 27:
		return 9
	}
	return 1
}
