package main

import (
	"bytes"
	"fmt"
	"io"
)

// initialEventsEnd is the annotation of the bookmark after the initial events (KEP-3157).
const initialEventsEnd = "k8s.io/initial-events-end"

// otherBookmarks bounds the other bookmarks that a server may send to a slow client.
const otherBookmarks = 10

// readInitialEvents reads a streaming list until the bookmark after the initial events. It returns
// an error if fewer than objects events precede the bookmark, or more than objects and updates.
func readInitialEvents(in io.Reader, frames counter, objects, updates int) error {
	const overlap = len(initialEventsEnd) - 1
	var (
		buf   = make([]byte, 64<<10)
		kept  int // length of the end of the previous piece, at the start of buf
		n     int // frames
		ended bool
	)
	for {
		k, err := in.Read(buf[kept:])
		all := buf[:kept+k]
		n += frames.count(all[kept:])
		ended = ended || bytes.Contains(all, []byte(initialEventsEnd))
		switch {
		case n > objects+updates+1+otherBookmarks:
			return fmt.Errorf("%d events instead of %d and a bookmark", n, objects+updates)
		case ended && n > objects:
			return nil
		case err != nil:
			return fmt.Errorf("after %d events of %d: %w", n, objects, err)
		}
		kept = copy(buf, all[max(0, len(all)-overlap):])
	}
}
