package flowcontrol

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
)

// single is a listener that accepts one connection.
type single struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *single) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *single) Close() error {
	close(l.closed)
	return nil
}

func (l *single) Addr() net.Addr { return &net.TCPAddr{} }

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
				client, server := net.Pipe()
				c := &conn{Conn: server, since: time.Now()}
				l := &single{make(chan net.Conn, 1), make(chan struct{})}
				l.conns <- c
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
