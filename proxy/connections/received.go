package connections

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"sluice/proxy/accounts"
)

const (
	// receivedFree is what a connection may hold before it counts, which the price of a connection includes: a
	// handshake and a header of the usual size.
	receivedFree = 16 << 10
	// receivedStep is by how much the count grows at a time.
	receivedStep = 16 << 10
	// spare is what a connection of a user may hold although there is no memory left: a few answers on their way, such as
	// those that refuse requests for want of memory. It must not lose its watches by them.
	spare = 128 << 10
	// http1Most is the most of a header that a connection counts.
	http1Most = 256 << 10
	// expansion is how many times its length a header over HTTP/1 may take before it is complete: net/http bounds
	// the length alone, and a field of four bytes takes a hundred.
	expansion = 20
)

// received is what a connection holds and no request counts: a handshake, over HTTP/1 a header that is not complete, and
// over HTTP/2 streams without a handler of Sluice's.
type received struct {
	http1    atomic.Bool
	http2    atomic.Bool // streams count instead of bytes
	bytes    atomic.Int64
	wrapping wrapping        // over HTTP/1
	streams  *streams        // nil until HTTP/2 begins; conn.mu guards it and what follows
	counted  int64           // bytes taken from the account
	grant    *accounts.Grant // nil while nothing is counted
}

// receive counts what the connection has received before HTTP/2 begins, for its address until it is known and for its user
// from then on. An error means that it must close: there is no memory for it.
func (c *conn) receive(n int) error {
	r := &c.received
	if r.wrapping.received.Add(int64(n)); r.http2.Load() || c.inBody() {
		return nil
	}
	if r.bytes.Add(int64(n)) <= receivedFree {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count()
}

// inBody reports whether what the connection receives over HTTP/1 belongs to a body, or to a tunnel.
func (c *conn) inBody() bool { return c.received.http1.Load() && c.requests.Load() > 0 }

// settle tells that what was received counts for a request now.
func (c *conn) settle() {
	if c.received.bytes.Swap(0) > receivedFree {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = c.count() // receive returns the error
	}
}

// count makes the account hold what was received. The caller must hold mu.
func (c *conn) count() (err error) {
	r := &c.received
	held := r.bytes.Load()
	switch {
	case r.streams != nil:
		held = r.streams.bytes()
	case r.http1.Load():
		held = receivedFree + expansion*(min(held, http1Most)-receivedFree)
	}
	bytes := max(0, held-receivedFree+receivedStep-1) / receivedStep * receivedStep
	switch {
	case c.gone || c.grant == nil || bytes == r.counted:
		return nil
	case bytes == 0:
		r.release()
		return nil
	case r.grant == nil && c.known: // of nothing yet, which is not refused
		r.grant, _ = c.user.TakeRevocable(accounts.Requests, 0, c.evict)
	case r.grant == nil:
		r.grant, _ = c.limiter.ledger.Account(c.address).TakeRevocable(accounts.Unverified, 0, c.evict)
	}
	if c.closed {
		r.grant.End()
	}
	err = r.grant.Resize(bytes)
	if err != nil && c.known && bytes <= spare && r.grant.Owe(bytes) {
		err = nil
	}
	if err == nil {
		r.counted = bytes
	}
	return err
}

// begin begins a request, which counts its header and its stream from now on. The caller must call end before the handler
// returns.
func (c *conn) begin(r *http.Request) {
	c.requests.Add(1)
	leave(&c.entry)
	leave(&c.turn)
	if r.ProtoMajor != 2 {
		c.settle()
		c.received.wrapping.begin(r)
		return
	}
	c.change(func(s *streams) { s.begin(r.Context()) })
}

// end ends a request that began with ctx. The server keeps its stream, and what it has buffered, until the client accepts that.
func (c *conn) end(ctx context.Context, r *http.Request) {
	c.rested.Store(int64(time.Since(c.since)))
	c.requests.Add(-1)
	if r.ProtoMajor == 2 {
		c.change(func(s *streams) { s.finish(ctx, headerBytes(r)) })
	}
}

// change changes what is known of the streams. The connection closes if there is no memory for them.
func (c *conn) change(f func(*streams)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.received.streams == nil {
		return
	}
	f(c.received.streams)
	if c.count() != nil {
		c.evict()
	}
}

// release gives back what is counted. The caller must hold conn.mu.
func (r *received) release() {
	r.grant.Release()
	r.grant, r.counted = nil, 0
}
