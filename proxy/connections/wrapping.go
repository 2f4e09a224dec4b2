package connections

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/proxy/wait"
)

const (
	// wrappingFree is the burst of overhead that an HTTP/1 connection may receive without delay: bytes beyond twice its
	// headers and bodies. It covers the TLS handshake and what is read ahead.
	wrappingFree = 64 << 10
	// wrappingPace delays each further byte of overhead. Parsing a chunk or a TLS record for every byte of a body costs
	// many times as much CPU as the body itself, and a KeyUpdate of 27 bytes costs new keys.
	wrappingPace = time.Second / (64 << 10)
)

// wrapping is a token bucket for the overhead of chunked encoding and TLS records on an HTTP/1 connection. Bodies that no
// handler reads count as well, since net/http discards them before the next request.
type wrapping struct {
	received atomic.Int64 // bytes since the connection was opened

	mu      sync.Mutex // guards what follows
	seen    int64      // of received
	balance int64      // bytes more than twice what requests had; below 0 what may come besides, at most wrappingFree
	known   int64      // bytes of the body that were not read, if its length is known
	due     time.Time  // when the client will have waited for what is more
}

// pause makes n bytes wait of the header that follows a request, if it is longer than any and the rest of the body: KeyUpdates
// come before each of its bytes. It is a function of its own, since the stacks of others must stay small.
//
//go:noinline
func (w *wrapping) pause(header int64, n int) {
	w.mu.Lock()
	more := max(0, min(int64(n), header-wrappingFree-w.known))
	w.balance -= more // what follows does not wait for it again
	w.mu.Unlock()
	time.Sleep(time.Duration(more) * wrappingPace)
}

// begin takes note of a request. It waits, if the client has to.
func (w *wrapping) begin(r *http.Request) {
	w.mu.Lock()
	pause := w.charge(headerBytes(r) + w.known)
	w.known = max(0, r.ContentLength)
	w.mu.Unlock()
	wait.Pause(r.Context(), pause)
}

// read takes note of bytes of a body. It waits, if the client has to.
func (w *wrapping) read(ctx context.Context, n int64) {
	w.mu.Lock()
	w.known = max(0, w.known-n)
	pause := w.charge(n)
	w.mu.Unlock()
	wait.Pause(ctx, pause)
}

// charge returns how long the client has to wait, after a request had n more bytes. The caller must hold mu.
func (w *wrapping) charge(n int64) time.Duration {
	received := w.received.Load()
	w.balance += received - w.seen - 2*n
	w.seen = received
	if now := time.Now(); w.due.Before(now) {
		w.due = now
	}
	if w.balance > 0 {
		w.due = w.due.Add(time.Duration(w.balance) * wrappingPace)
		w.balance = 0
	}
	w.balance = max(w.balance, -wrappingFree)
	return time.Until(w.due) - wrappingFree*wrappingPace
}
