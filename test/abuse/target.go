package abuse

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"time"
)

// Target is a server that is attacked.
type Target struct {
	URL   string // of the API, https
	Admin string // URL of the admin listener, http; empty if there is none
	CA    []byte // PEM certificates that sign the API's
}

// Attacker attacks until ctx ends, and returns how it was answered. The callers of its requests have the tokens.
type Attacker interface {
	Attack(ctx context.Context, t *Target, tokens []string) (Tally, error)
}

// Tally counts answers: by code, or by what happened instead of one.
type Tally map[string]int

// Answers that are no code.
const (
	Reset   = "reset"   // of a stream
	Cut     = "cut"     // a connection that was open
	Refused = "refused" // a connection that did not open
)

// counter is a Tally for several goroutines.
type counter struct {
	mu    sync.Mutex // guards tally
	tally Tally
}

func (c *counter) add(answer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tally == nil {
		c.tally = Tally{}
	}
	c.tally[answer]++
}

// take returns the counts since the last call.
func (c *counter) take() Tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally
	c.tally = nil
	return t
}

// dialLimit bounds the opening of a connection.
const dialLimit = 20 * time.Second

// loopback returns host:port of an address on this machine.
func loopback(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	if a, err := netip.ParseAddrPort(u.Host); err != nil || !a.Addr().IsLoopback() {
		return "", fmt.Errorf("%q is not on loopback", address)
	}
	return u.Host, nil
}

// dialer returns what opens TLS connections for HTTP/2 to host:port of the API.
func (t *Target) dialer() (d *tls.Dialer, host string, err error) {
	roots := x509.NewCertPool()
	if host, err = loopback(t.URL); err == nil && !roots.AppendCertsFromPEM(t.CA) {
		err = errors.New("no CA")
	}
	config := &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}}
	return &tls.Dialer{NetDialer: &net.Dialer{Timeout: dialLimit}, Config: config}, host, err
}

// redial is the pause before a connection is opened again that was refused.
const redial = 200 * time.Millisecond

// hold holds n HTTP/2 connections until ctx ends, each of them opened again when it has ended, and returns how the server
// answered. use is called with the number of a connection, and returns an answer, too, when the connection has ended.
func (t *Target) hold(ctx context.Context, n int, window uint32, answers *counter, use func(c *conn, i int) string) (Tally, error) {
	dialer, host, err := t.dialer()
	if err != nil {
		return nil, err
	}
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			for ctx.Err() == nil {
				answer := with(ctx, dialer, host, window, func(c *conn) string { return use(c, i) })
				if answer != "" && ctx.Err() == nil {
					answers.add(answer)
				}
				if answer == Refused {
					sleep(ctx, redial)
				}
			}
		})
	}
	running.Wait()
	return answers.take(), nil
}

// with opens an HTTP/2 connection, which ends with ctx, and returns the answer of use, or what happened instead.
func with(ctx context.Context, d *tls.Dialer, host string, window uint32, use func(*conn) string) string {
	tls, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return Refused
	}
	defer tls.Close()
	defer context.AfterFunc(ctx, func() { _ = tls.Close() })()
	c, err := newConn(tls, window)
	if err != nil {
		return Cut
	}
	return use(c)
}

// sleep sleeps for d, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
