package watch_test

import (
	"net/http/httptest"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

// here returns where the stack of the caller ends.
//
//go:noinline
func here() uintptr {
	var local byte
	return uintptr(unsafe.Pointer(&local))
}

// growStack makes the stack so large that it need not grow again, which would move it.
//
//go:noinline
func growStack(n byte) byte {
	var large [128 << 10]byte
	large[n] = n
	return large[len(large)-1-int(n)]
}

// A stack has 8 KiB if at most 4 KiB of it are in use while the watch waits, and else 16: the filters before the Handler
// and net/http have 2.5 KiB. The frames of the race detector are half as large again as the others: 888 bytes are 1,344.
func TestQuietWatchHoldsLittleStack(t *testing.T) {
	const most = 1400                                // bytes
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would move the stack
	synctest.Test(t, func(t *testing.T) {
		var begin, end uintptr
		e := handlertest.New(t, servetest.Foos(3), serve.Options{Spread: func() time.Duration {
			end = here()
			return 0
		}})
		close(e.Draining) // Spread is called where the watch waits
		r := e.Request(servetest.FooWatch+servetest.FromThree, nil)
		growStack(1)
		begin = here()
		e.Handler.ServeHTTP(httptest.NewRecorder(), r)
		if used := begin - end; used > most {
			t.Errorf("%d bytes of stack", used)
		}
	})
}
