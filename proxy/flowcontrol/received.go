package flowcontrol

import (
	"net"
	"sync/atomic"

	"sluice/proxy/accounts"
)

const (
	// receivedFree is what a connection may receive before it counts, which the price of a connection includes: a
	// handshake and a header of the usual size.
	receivedFree = 16 << 10
	// receivedStep is by how much the count grows at a time.
	receivedStep = 16 << 10
	// receivedMost is the most that a connection holds of it: a client certificate.
	receivedMost = 256 << 10
	// expansion is how many times its length a header over HTTP/1 may take before it is complete: net/http bounds
	// the length alone, and a field of four bytes takes a hundred. Over HTTP/2 it bounds the fields too.
	expansion = 20
)

// received is what a connection has received while no request was in progress: a header that is not complete, or
// a handshake.
type received struct {
	http1   atomic.Bool
	bytes   atomic.Int64
	counted atomic.Int64    // of bytes, beyond receivedFree
	grant   *accounts.Grant // nil while nothing is counted; guarded by conn.mu
}

// receive counts what the connection has received, for its address until it is known and for its user from then on. An
// error means that it must close: there is no memory for it.
func (c *conn) receive(n int) error {
	r := &c.received
	if c.requests.Load() > 0 { // a body, or a header over HTTP/2 beside a request that counts
		return nil
	}
	bytes := min(r.bytes.Add(int64(n)), receivedMost) - receivedFree
	if bytes <= r.counted.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.grant == nil || c.requests.Load() > 0 { // one may have begun meanwhile
		return nil
	}
	bytes = (bytes + receivedStep - 1) / receivedStep * receivedStep
	r.counted.Store(bytes)
	if r.http1.Load() {
		bytes *= expansion
	}
	if r.grant != nil {
		return r.grant.Resize(bytes)
	}
	account, resource := c.connections.ledger.Account(c.address), accounts.Unverified
	if c.known {
		account, resource = c.user, accounts.Requests
	}
	var err error
	r.grant, err = account.TakeRevocable(resource, bytes, c.evict)
	return err
}

// begin begins a request. Its header counts as a part of it.
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests.Add(1)
	c.received.bytes.Store(0)
	if c.received.counted.Swap(0) > 0 {
		c.received.release()
	}
}

// Tunneled tells that what a connection receives from now on is no header of a request, and takes no memory.
func Tunneled(c net.Conn) {
	if counted := unwrap(c); counted != nil {
		counted.begin()
	}
}

// release gives back what is counted. The caller must hold conn.mu.
func (r *received) release() {
	r.grant.Release()
	r.grant = nil
}
