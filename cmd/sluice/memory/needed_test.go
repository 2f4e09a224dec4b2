package memory

import (
	"runtime"
	"testing"
)

func TestNeededCountsWhatLivesAndNoGarbage(t *testing.T) {
	const size = 64 << 20
	runtime.GC()
	before, first := Needed()
	b := make([]byte, size)
	runtime.GC()
	with, second := Needed()
	if second == first {
		t.Error("the collection has no number of its own")
	}
	if n := with - before; n < size*9/10 {
		t.Errorf("%d bytes more are needed with an object of %d", n, size)
	}
	runtime.KeepAlive(b)
	runtime.GC()
	after, _ := Needed()
	if n := after - before; n > size/2 {
		t.Errorf("%d bytes more are needed after it", n)
	}
}
