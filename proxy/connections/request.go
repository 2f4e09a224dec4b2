package connections

import (
	"context"
	"io"
	"net/http"

	"sluice/proxy/accounts"
	"sluice/proxy/request"
)

const (
	// ReceiveBuffer is what a client may send of bodies ahead of their handlers, on one HTTP/2 connection: a MiB,
	// the default, would be 2 GiB for all strangers.
	ReceiveBuffer = 64 << 10
	// FrameBytes is the longest frame over HTTP/2. The server makes room for a whole one as soon as it has its
	// header of nine bytes, so a MiB, the default, would be as much.
	FrameBytes = 16 << 10
	// fieldBytes is what a field of a header takes besides its name and value, and trailerBytes what the name of a trailer
	// takes that the header announces.
	fieldBytes, trailerBytes = 48, 128
	// urlExpansion is how many times its length a URL may take once it is parsed: into segments of a byte, and into selectors
	// of as many short terms.
	urlExpansion = 16
)

// WithConnection is a filter before authentication: while it runs, the connection waits for Sluice, and
// not for its client.
func WithConnection(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connFrom(r.Context()); c != nil {
			ctx := r.Context() // which filters change
			c.begin(r)
			defer func() {
				if info := request.Lookup(r.Context()); info == nil || !info.Admission {
					c.change((*streams).decide)
				}
				c.end(ctx, r)
			}()
			if r.Body != nil && r.Body != http.NoBody {
				if r.ProtoMajor == 1 { // from the body of its own request net/http knows whether to read the rest before it responds
					r = r.WithContext(ctx)
				}
				r.Body = &awaitedBody{r.Body, c, ctx}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// awaitedBody is the body of a request that waits for its client while it is read.
type awaitedBody struct {
	io.ReadCloser
	conn *conn
	ctx  context.Context
}

// Read implements io.Reader.
func (b *awaitedBody) Read(p []byte) (int, error) {
	b.conn.waiting.Add(1)
	defer b.conn.waiting.Add(-1)
	n, err := b.ReadCloser.Read(p)
	if b.conn.received.http1.Load() {
		b.conn.received.wrapping.read(b.ctx, int64(n))
	}
	return n, err
}

// Assign makes the connection of a request count for a user, unless it already counts for one. The error is an
// *accounts.Refused, or net.ErrClosed for a connection that has been evicted: its client could not receive the response.
func Assign(ctx context.Context, a accounts.Account) error {
	if c := connFrom(ctx); c != nil {
		return c.assign(a)
	}
	return nil
}

// Decided tells that a request was admitted or refused, which its connection awaits before it receives more.
func Decided(ctx context.Context) {
	if c := connFrom(ctx); c != nil {
		c.change((*streams).decide)
	}
}

// UserOf returns the user for whom the connection of a request counts, and false before its first authenticated request.
func UserOf(ctx context.Context) (k accounts.Key, known bool) {
	c := connFrom(ctx)
	if c == nil {
		return accounts.Key{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.user.Key, c.known
}

// Yield tells that a request waits where strangers may send as many as they like, until done is called: its token among suspect
// ones, or at the admin listener. A connection on which nothing else runs may make room meanwhile.
func Yield(ctx context.Context) (done func()) {
	c := connFrom(ctx)
	if c == nil {
		return func() {}
	}
	c.yielding.Add(1)
	return func() { c.yielding.Add(-1) }
}

// EndStranger makes a response the last one of its connection, if that had no authenticated request: each
// further request to refuse costs a handshake then. An HTTP/2 server sends GOAWAY.
func EndStranger(w http.ResponseWriter, r *http.Request) {
	if _, known := UserOf(r.Context()); !known && connFrom(r.Context()) != nil {
		w.Header().Set("Connection", "close")
	}
}

// RequestBytes returns about how much memory a request takes: its goroutine and what it refers to, its header, and what
// may have been received of its body.
func RequestBytes(r *http.Request) int64 {
	n := accounts.RequestBytes + headerBytes(r)
	switch {
	case r.ProtoMajor != 2 || r.ContentLength == 0:
	case r.ContentLength > 0:
		n += min(r.ContentLength, ReceiveBuffer)
	default:
		n += ReceiveBuffer
	}
	return n
}

func headerBytes(r *http.Request) int64 {
	n := urlExpansion*(len(r.URL.Path)+len(r.URL.RawQuery)) + trailerBytes*len(r.Trailer)
	for name, values := range r.Header {
		n += fieldBytes + len(name)
		for _, value := range values {
			n += len(value)
		}
	}
	return int64(n)
}
