package flowcontrol

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/proxy/wait"
)

const (
	// wrappingFree is how many bytes more than twice its headers and bodies a connection may receive over HTTP/1 without
	// waiting: some were read ahead, or belong to a handshake.
	wrappingFree = 64 << 10
	// wrappingPace is how long its client waits for each more. A chunk, or a record of TLS, for every byte of a body takes a
	// processor many times as long as the body alone.
	wrappingPace = time.Second / (256 << 10)
)

// wrapping is how much more a connection receives over HTTP/1 than its requests have, which takes its time. Chunks of bodies
// that nobody reads count as well: net/http reads them before the next request.
type wrapping struct {
	received atomic.Int64 // bytes since the connection was opened

	mu      sync.Mutex // guards what follows
	seen    int64      // of received
	balance int64      // bytes more than twice what requests had; below 0 what may come besides, at most wrappingFree
	known   int64      // bytes of the body that were not read, if its length is known
	due     time.Time  // when the client will have waited for what is more
}

// begin takes note of a request. It waits, if the client has to.
func (w *wrapping) begin(r *http.Request) {
	w.mu.Lock()
	had := headerBytes(r) + w.known
	w.known = max(0, r.ContentLength)
	w.mu.Unlock()
	w.had(r.Context(), had)
}

// read takes note of bytes of a body. It waits, if the client has to.
func (w *wrapping) read(ctx context.Context, n int64) {
	w.mu.Lock()
	w.known = max(0, w.known-n)
	w.mu.Unlock()
	w.had(ctx, n)
}

// had takes note of bytes that a request had.
func (w *wrapping) had(ctx context.Context, n int64) {
	wait.Pause(ctx, w.charge(n))
}

// charge returns how long the client has to wait, after a request had n more bytes.
func (w *wrapping) charge(n int64) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
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
