package wire

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Link is a TCP proxy to one address. Its methods may be used concurrently.
type Link struct {
	Accepted atomic.Int64 // connections
	Answered atomic.Int64 // bytes that the server has sent

	target   string
	listener net.Listener
	delay    atomic.Int64 // time.Duration
	running  sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	refuse bool
	conns  map[*conn]struct{}
}

// StartLink starts a link to the server of a configuration, until the test ends. It returns the configuration of its clients,
// too.
func StartLink(t testing.TB, to *rest.Config) (*Link, *rest.Config) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{target: strings.TrimPrefix(to.Host, "https://"), listener: listener, conns: map[*conn]struct{}{}}
	l.running.Go(l.run)
	t.Cleanup(func() {
		l.listener.Close()
		l.Refuse()
		l.running.Wait()
	})
	through := rest.CopyConfig(to)
	through.Host = "https://" + listener.Addr().String()
	return l, through
}

// run forwards connections until the listener is closed.
func (l *Link) run() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.Accepted.Add(1)
		l.running.Go(func() { l.forward(client) })
	}
}

// Cut resets a share of the connections, between 0 and 1, and at least one connection.
func (l *Link) Cut(share float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := max(1, int(share*float64(len(l.conns))))
	for c := range l.conns { // in random order
		if n--; n < 0 {
			return
		}
		c.cut()
	}
}

// Abandon drops whatever the present connections carry from now on, without closing them, as a machine does
// that has lost its power.
func (l *Link) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.abandoned.Store(true)
	}
}

// Refuse resets all connections, and new ones.
func (l *Link) Refuse() {
	l.setRefuse(true)
	l.Cut(1)
}

func (l *Link) setRefuse(refuse bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = refuse
}

// Delay delays each byte, also those on their way.
func (l *Link) Delay(d time.Duration) { l.delay.Store(int64(d)) }

// Restore ends refusal and delay.
func (l *Link) Restore() {
	l.setRefuse(false)
	l.Delay(0)
}

// forward forwards one connection until one side ends it.
func (l *Link) forward(client net.Conn) {
	ctx, cut := context.WithCancel(context.Background())
	defer cut()
	context.AfterFunc(ctx, func() { reset(client) })
	c := &conn{cut: cut}
	if !l.enter(c) {
		return
	}
	defer l.leave(c)
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.target)
	if err != nil {
		return
	}
	context.AfterFunc(ctx, func() { reset(server) })
	var both sync.WaitGroup
	both.Go(func() { defer cut(); l.pump(ctx, c, client, server, new(atomic.Int64)) })
	both.Go(func() { defer cut(); l.pump(ctx, c, server, client, &l.Answered) })
	both.Wait()
}

// conn is a connection that can be cut.
type conn struct {
	cut       context.CancelFunc
	abandoned atomic.Bool
}

// enter adds a connection. It returns false if the link refuses connections.
func (l *Link) enter(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.refuse {
		l.conns[c] = struct{}{}
	}
	return !l.refuse
}

func (l *Link) leave(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// pump forwards the bytes of one direction, and counts them.
func (l *Link) pump(ctx context.Context, c *conn, src, dst net.Conn, sum *atomic.Int64) {
	_ = copyLater(ctx, func(p []byte) (int, error) {
		if c.abandoned.Load() {
			return len(p), nil
		}
		sum.Add(int64(len(p)))
		return dst.Write(p)
	}, src, func() time.Duration { return time.Duration(l.delay.Load()) })
}

// reset closes a connection as a crash of the other side would.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}
