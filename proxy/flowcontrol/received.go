package flowcontrol

import (
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"

	"sluice/proxy/accounts"
)

const (
	// receivedFree is what a connection may receive before it counts, which the price of a connection includes: a
	// handshake and a header of the usual size.
	receivedFree = 16 << 10
	// receivedStep is by how much the count grows at a time.
	receivedStep = 16 << 10
	// http1Most and http2Most are the most that a connection counts: a header, and those of a hundred requests.
	http1Most = 256 << 10
	http2Most = 8 << 20
	// expansion is how many times its length a header over HTTP/1 may take before it is complete: net/http bounds
	// the length alone, and a field of four bytes takes a hundred. Over HTTP/2 it bounds the fields too.
	expansion = 20
	// frameHeader is more than what surrounds the data of a frame over HTTP/2 and TLS.
	frameHeader = 64
)

// received is what a connection holds and no request counts: a handshake, a header that is not complete and, over HTTP/2,
// the headers of requests whose handlers have not begun, and responses whose handlers have ended but whose client has
// not accepted the end.
type received struct {
	http1   atomic.Bool
	bytes   atomic.Int64
	ended   atomic.Int64    // responses
	counted int64           // bytes taken from the account; conn.mu guards it and what follows
	grant   *accounts.Grant // nil while nothing is counted
}

// receive counts what the connection has received, for its address until it is known and for its user from then on. An
// error means that it must close: there is no memory for it.
func (c *conn) receive(n int) error {
	r := &c.received
	if r.http1.Load() && c.requests.Load() > 0 { // a body
		return nil
	}
	if r.bytes.Add(int64(n)) <= receivedFree {
		return nil
	}
	if !r.http1.Load() {
		runtime.Gosched() // complete requests begin before more is received, however few processors there are
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count()
}

// settle tells that up to n bytes of what was received have gone, or count for a request.
func (c *conn) settle(n int64) {
	bytes := &c.received.bytes
	for {
		before := bytes.Load()
		if before == 0 {
			return
		}
		if !bytes.CompareAndSwap(before, max(0, before-n)) {
			continue
		}
		if before > receivedFree {
			c.mu.Lock()
			defer c.mu.Unlock()
			_ = c.count() // receive returns the error
		}
		return
	}
}

// count makes the account hold what was received. The caller must hold mu.
func (c *conn) count() (err error) {
	r := &c.received
	most, times := int64(http2Most), int64(1)
	if r.http1.Load() {
		most, times = http1Most, expansion
	}
	beyond := max(0, min(r.bytes.Load(), most)+r.ended.Load()*accounts.RequestBytes-receivedFree)
	bytes := (beyond + receivedStep - 1) / receivedStep * receivedStep * times
	switch {
	case c.closed || c.grant == nil || bytes == r.counted:
		return nil
	case bytes == 0:
		r.release()
		return nil
	case r.grant != nil:
		err = r.grant.Resize(bytes)
	case c.known:
		r.grant, err = c.user.TakeRevocable(accounts.Requests, bytes, c.evict)
	default:
		r.grant, err = c.connections.ledger.Account(c.address).TakeRevocable(accounts.Unverified, bytes, c.evict)
	}
	if err == nil {
		r.counted = bytes
	}
	return err
}

// begin begins a request, which counts its header from now on. The caller must call end.
func (c *conn) begin(r *http.Request) {
	c.requests.Add(1)
	switch {
	case r.ProtoMajor != 2:
		c.settle(math.MaxInt64)
	case c.received.bytes.Load() <= receivedFree: // there is no other header of any length
		c.settle(receivedFree)
	default:
		c.settle(headerBytes(r))
	}
	if r.ProtoMajor == 2 && r.ContentLength != 0 {
		r.Body = &receivedBody{r.Body, c}
	}
}

// closeNotifier is a writer over HTTP/2. The channel receives when the response has been sent to its end, or is cut. It is
// not http.CloseNotifier, which is deprecated for its meaning before a handler ends.
type closeNotifier interface{ CloseNotify() <-chan bool }

// end ends a request, before its handler returns. The server then keeps the handler and what it has buffered until the
// client accepts that.
func (c *conn) end(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(-1)
	if _, ok := r.Body.(*receivedBody); ok {
		c.settle(ReceiveBuffer) // the server drops what nobody has read
	}
	if w, ok := w.(closeNotifier); ok && r.ProtoMajor == 2 {
		c.linger(1)
		sent := w.CloseNotify()
		go func() {
			<-sent
			c.linger(-1)
		}()
	}
}

// linger counts responses that have ended but are not sent. The connection closes if there is no memory for them.
func (c *conn) linger(n int64) {
	c.received.ended.Add(n)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count() != nil {
		c.evict()
	}
}

// receivedBody is a body over HTTP/2. What is read of it has gone.
type receivedBody struct {
	io.ReadCloser
	conn *conn
}

// Read implements io.Reader.
func (b *receivedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.conn.settle(int64(n) + frameHeader)
	return n, err
}

// Tunneled tells that what a connection receives from now on is no header of a request, and takes no memory.
func Tunneled(c net.Conn) {
	if counted := unwrap(c); counted != nil {
		counted.received.http1.Store(true)
		counted.requests.Add(1)
		counted.settle(math.MaxInt64)
	}
}

// release gives back what is counted. The caller must hold conn.mu.
func (r *received) release() {
	r.grant.Release()
	r.grant, r.counted = nil, 0
}
