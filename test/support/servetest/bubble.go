package servetest

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// InBubble is synctest.Test with zstd encoders of its own: the channels of an encoder belong to the bubble in
// which it was made.
func InBubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	emptyPools()
	defer emptyPools()
	synctest.Test(t, f)
}

// emptyPools empties every sync.Pool, which the second collection does.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}
