package memory

import (
	"runtime"
	"testing"
)

func TestNeededCountsWhatLivesAndNoGarbage(t *testing.T) {
	const size = 64 << 20
	runtime.GC()
	before := Needed()
	b := make([]byte, size)
	runtime.GC()
	if n := Needed() - before; n < size*9/10 {
		t.Errorf("%d bytes more are needed with an object of %d", n, size)
	}
	runtime.KeepAlive(b)
	runtime.GC()
	if n := Needed() - before; n > size/2 {
		t.Errorf("%d bytes more are needed after it", n)
	}
}
