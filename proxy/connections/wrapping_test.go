package connections

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/proxy/accounts"
	"sluice/test/support/proxytest"
)

// countedListener is a listener whose only connection is conn.
type countedListener struct {
	*proxytest.Listener
	conn *conn
}

// Accept implements net.Listener.
func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.conn.Conn = c
	return l.conn, nil
}

// A chunk for each byte costs the server many times as much as the byte, whether a handler reads it or the server discards it.
func TestTinyChunksTakeTheirTime(t *testing.T) {
	const chunked, counted = "Transfer-Encoding: chunked", "Content-Length: 100000"
	tiny := func(n int) string { return strings.Repeat("1\r\nx\r\n", n) + "0\r\n\r\n" }
	whole := strings.Repeat("x", 100_000)
	for _, tt := range []struct {
		name, path, field, body string
		n                       int
		atLeast, atMost         time.Duration
	}{
		{"a long body", "/", chunked, tiny(256 << 10), 1, 14800 * time.Millisecond, 16400 * time.Millisecond},
		{"short ones", "/", chunked, tiny(16_000), 100, 92 * time.Second, 100 * time.Second},
		{"bodies that are not read", "/unread", chunked, tiny(250_000), 10, 180 * time.Second, 240 * time.Second},
		{"whole bodies", "/", counted, whole, 50, 0, 0},
		{"whole bodies that are not read", "/unread", counted, whole, 50, 0, 0},
		{"one in chunks", "/", chunked, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(whole), whole), 50, 0, 0},
		{"headers", "/", "Content-Length: 1\r\nX: " + strings.Repeat("y", 1000), "x", 2000, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &conn{since: time.Now()}
				l := &countedListener{proxytest.NewListener(), c}
				s := &http.Server{
					ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
						c.received.http1.Store(true)
						return context.WithValue(ctx, connKey{}, c)
					},
					Handler: WithConnection(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						if r.URL.Path != "/unread" {
							_, _ = io.Copy(io.Discard, r.Body)
						}
					})),
				}
				go func() { _ = s.Serve(l) }()
				client, err := l.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					_ = s.Close()
					_ = client.Close()
				}()
				start := time.Now()
				go func() {
					for range tt.n {
						_, _ = fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n%s", tt.path, tt.field, tt.body)
					}
				}()
				answers := bufio.NewReader(client)
				for i := range tt.n {
					resp, err := http.ReadResponse(answers, nil)
					if err != nil {
						t.Fatalf("answer %d: %v", i, err)
					}
					_, _ = io.Copy(io.Discard, resp.Body)
				}
				if took := time.Since(start); took < tt.atLeast || took > tt.atMost {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// 15 KeyUpdates before each byte of a header delayed the leases of others by half a second.
func TestLongHeadersTakeTheirTime(t *testing.T) {
	for _, tt := range []struct {
		name  string
		known int64 // of a body that was not read
		bytes int
		takes time.Duration
	}{
		{"short", 0, wrappingFree, 0},
		{"long", 0, wrappingFree + 128<<10, 2 * time.Second},
		{"behind a body", 128 << 10, wrappingFree + 128<<10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, client := net.Pipe()
				defer client.Close()
				c := &conn{Conn: server, limiter: New(accounts.New(accounts.Totals{}, math.MaxInt64)), since: time.Now()}
				c.received.http1.Store(true)
				c.received.wrapping.known = tt.known
				start := time.Now()
				go func() { _, _ = client.Write(make([]byte, tt.bytes)) }()
				for left := tt.bytes; left > 0; {
					n, err := c.Read(make([]byte, 4096))
					if err != nil {
						t.Fatal(err)
					}
					left -= n
				}
				if took := time.Since(start); took > tt.takes || took < tt.takes*9/10 {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TLS answers a KeyUpdate while it reads. If the client does not read, nobody could close the connection before it did.
func TestRecordsOfTLSAreAcceptedSoon(t *testing.T) {
	for _, tt := range []struct {
		name     string
		deadline time.Duration // of the server; 0 for none
		bytes    int
		takes    time.Duration
	}{
		{"a KeyUpdate", 0, 27, tlsTimeout},
		{"a KeyUpdate within a deadline", time.Minute, 27, time.Minute},
		{"data within a deadline", time.Minute, 1000, time.Minute},
		{"a key of an exec", 0, 27, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, client := net.Pipe()
				defer client.Close()
				c := &conn{Conn: server, since: time.Now()}
				if tt.deadline > 0 {
					_ = c.SetWriteDeadline(time.Now().Add(tt.deadline))
				}
				if tt.takes == 0 {
					c.received.http1.Store(true)
					c.requests.Store(1)
					go func() { time.Sleep(time.Hour); _, _ = io.ReadFull(client, make([]byte, tt.bytes)) }()
					if _, err := c.Write(make([]byte, tt.bytes)); err != nil {
						t.Error(err)
					}
					return
				}
				start := time.Now()
				_, err := c.Write(make([]byte, tt.bytes))
				if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != tt.takes {
					t.Errorf("%v after %v", err, took)
				}
				if tt.deadline == 0 { // what follows has as long as it takes
					go func() { time.Sleep(time.Minute); _, _ = io.ReadFull(client, make([]byte, 1000)) }()
					if _, err := c.Write(make([]byte, 1000)); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
