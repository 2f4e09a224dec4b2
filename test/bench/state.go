package main

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// endOfState is the annotation of the bookmark that ends the state with which a streaming list begins
// (KEP-3157).
const endOfState = "k8s.io/initial-events-end"

// stateLimit is how long all clients of a case may take to be sent the state.
const stateLimit = 10 * time.Minute

// otherBookmarks is how many a server may send beside that one, while a slow client reads.
const otherBookmarks = 10

// readState reads a streaming list up to and with the bookmark that ends the state, and returns an error
// if there were fewer objects before it, or clearly more. There must be no updates.
func readState(in io.Reader, frames counter, objects int) error {
	const overlap = len(endOfState) - 1
	var (
		buf    = make([]byte, 64<<10)
		kept   int // of the piece before, at the start of buf
		n      int // frames
		marked bool
	)
	for {
		k, err := in.Read(buf[kept:])
		all := buf[:kept+k]
		n += frames.count(all[kept:])
		marked = marked || bytes.Contains(all, []byte(endOfState))
		switch {
		case n > objects+1+otherBookmarks:
			return fmt.Errorf("%d events where %d and a bookmark should be", n, objects)
		case marked && n > objects:
			return nil
		case err != nil:
			return fmt.Errorf("after %d events of %d: %w", n, objects, err)
		}
		kept = copy(buf, all[max(0, len(all)-overlap):])
	}
}
