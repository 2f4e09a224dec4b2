package peers

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// relay passes connections to the apiserver, and counts what it answers, as bytes on the wire.
type relay struct {
	url      string
	answered atomic.Int64
}

// newRelay starts a relay to the server of a URL.
func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	r := &relay{url: "https://" + listener.Addr().String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go r.pass(client, strings.TrimPrefix(server, "https://"))
		}
	}()
	return r
}

// pass passes one connection until either side closes it.
func (r *relay) pass(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, client) // a connection that breaks ends both
	}()
	_, _ = io.Copy(counted{client, &r.answered}, server)
}

type counted struct {
	io.Writer
	sum *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.sum.Add(int64(n))
	return n, err
}
