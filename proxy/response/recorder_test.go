package response

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// countingListener counts the short writes to its connections: with TLS, records of a few bytes.
type countingListener struct {
	net.Listener
	short atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &countingConn{conn, l}, err
}

type countingConn struct {
	net.Conn
	listener *countingListener
}

func (c *countingConn) Write(p []byte) (int, error) {
	if len(p) < 100 {
		c.listener.short.Add(1)
	}
	return c.Conn.Write(p)
}

// TestFramesFillTLSRecords: a long response over HTTP/2 has no record for the end of each frame.
func TestFramesFillTLSRecords(t *testing.T) {
	const frames = 500
	body := bytes.Repeat([]byte("x"), frames*FramePayload)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, err := NewRecorder(w, r).Write(body); n != len(body) || err != nil {
			t.Errorf("wrote %d of %d bytes, %v", n, len(body), err)
		}
	}))
	l := &countingListener{Listener: s.Listener}
	s.Listener, s.EnableHTTP2 = l, true
	s.StartTLS()
	defer s.Close()
	resp, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(got, body) || resp.ProtoMajor != 2 {
		t.Fatalf("%d bytes over %s, %v", len(got), resp.Proto, err)
	}
	if short := l.short.Load(); short > frames/2 {
		t.Errorf("%d short records with %d frames", short, frames)
	}
}

// TestWritesAreNotSplitOverHTTP1: each would be a chunk.
func TestWritesAreNotSplitOverHTTP1(t *testing.T) {
	var writes int
	count := writerFunc(func(p []byte) (int, error) { writes++; return len(p), nil })
	_, _ = NewRecorder(count, httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)).Write(make([]byte, 3*FramePayload))
	if writes != 1 {
		t.Errorf("%d writes", writes)
	}
}

type writerFunc func(p []byte) (int, error)

func (writerFunc) Header() http.Header           { return http.Header{} }
func (writerFunc) WriteHeader(int)               {}
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
