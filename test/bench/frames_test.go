package main

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestFramesComeInPiecesOfAnySize splits a stream of three frames and part of a fourth.
func TestFramesComeInPiecesOfAnySize(t *testing.T) {
	for _, tc := range []struct {
		name   string
		split  bufio.SplitFunc
		stream []byte
	}{
		{"lines", splitLines, []byte("{\"a\":1}\n\n{}\n{\"cut")},
		{"frames", splitFrames, []byte("\x00\x00\x00\x03abc\x00\x00\x00\x00\x00\x00\x01\x00" + string(bytes.Repeat([]byte{7}, 256)) + "\x00\x00\x00\x02x")},
		{"items", splitItems, []byte(
			"\xd9\xd9\xf7\xa2\x44type\x45ADDED\x46object\xd9\xd9\xf7\xa2\x41a\x83\x01\x80\xa0\x41b\x58\x20" + strings.Repeat("x", 32) +
				"\xd9\xd9\xf7\xa1\x41c\x82\x1b\x00\x00\x00\x01\x00\x00\x00\x00\xfb\x40\x09\x21\xfb\x54\x44\x2d\x18" +
				"\xd9\xd9\xf7\xa1\x40\x39\x00\xff" +
				"\xd9\xd9\xf7\xa1\x41d")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for size := 1; size <= len(tc.stream); size++ {
				var whole []byte
				n, frames := 0, framesOf(&pieces{tc.stream, size}, tc.split)
				for ; frames.Scan(); n++ {
					whole = append(whole, frames.Bytes()...)
				}
				if n != 3 || !bytes.HasPrefix(tc.stream, whole) || frames.Err() != nil {
					t.Errorf("%d frames in pieces of %d bytes, %v", n, size, frames.Err())
				}
			}
		})
	}
}

// pieces is a reader of a text in pieces of a size.
type pieces struct {
	text []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}

func TestReadInitialEventsEndsAtTheirBookmark(t *testing.T) {
	const object, bookmark = "{\"type\":\"ADDED\"}\n", "{\"type\":\"BOOKMARK\",\"k8s.io/initial-events-end\":\"true\"}\n"
	for _, tc := range []struct {
		name, text, want string
	}{
		{"whole", object + object + bookmark, ""},
		{"object lost", object + bookmark, "after 2 events of 2"},
		{"bookmark beside", object + strings.Replace(bookmark, "initial", "", 1) + object + bookmark, ""},
		{"objects too many", strings.Repeat(object, 2+otherBookmarks+2) + bookmark, "instead of 2 and a bookmark"},
		{"no bookmark", object + object, "after 2 events of 2"},
		{"half a bookmark", object + object + bookmark[:50], "after 2 events of 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for name, in := range map[string]func(*strings.Reader) error{
				"in one piece": func(r *strings.Reader) error { return readInitialEvents(framesOf(r, splitLines), 2, 0) },
				"in bytes": func(r *strings.Reader) error {
					return readInitialEvents(framesOf(iotest.OneByteReader(r), splitLines), 2, 0)
				},
			} {
				err := in(strings.NewReader(tc.text))
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("%s: %v, want %q", name, err, tc.want)
				}
			}
		})
	}
}
