package connections

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		{"a long body", "/", chunked, tiny(256 << 10), 1, 3700 * time.Millisecond, 4100 * time.Millisecond},
		{"short ones", "/", chunked, tiny(16_000), 100, 23 * time.Second, 25 * time.Second},
		{"bodies that are not read", "/unread", chunked, tiny(250_000), 10, 45 * time.Second, 60 * time.Second},
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
