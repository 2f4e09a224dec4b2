package harness

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Relay passes connections to a server, and counts what the server answers, in bytes on the wire.
type Relay struct {
	URL      string
	Answered atomic.Int64
}

// NewRelay starts a relay to the server of a URL.
func NewRelay(t testing.TB, server string) *Relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	r := &Relay{URL: "https://" + listener.Addr().String()}
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
func (r *Relay) pass(client net.Conn, address string) {
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
	_, _ = io.Copy(counted{client, &r.Answered}, server)
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

// KubeconfigThrough writes the kubeconfig of a user whose requests a relay passes, and returns its path.
func (c *ControlPlane) KubeconfigThrough(t testing.TB, user string, r *Relay) string {
	t.Helper()
	config := c.RESTConfig(user)
	config.Host = r.URL
	path := filepath.Join(t.TempDir(), user+".kubeconfig")
	if err := WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	return path
}
