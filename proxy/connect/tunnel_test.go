package connect

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"sluice/proxy/accounts"
	"sluice/proxy/connections"
)

func TestTunnelsLeadToAllowedDestinations(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://192.0.2.9:3128") // must not matter
	run(t, nil, func(e *env) {
		c, resp := e.connect("Registry.example.com.:443")
		if resp.StatusCode != http.StatusOK {
			e.Fatal(resp.Status)
		}
		if want := []string{"198.51.100.1:443"}; !slices.Equal(e.dialed, want) {
			e.Errorf("dialed %q, want %q", e.dialed, want)
		}
		go func() {
			far := <-e.targets
			defer far.Close()
			_, _ = io.Copy(far, far)
		}()
		if err := c.echoes(); err != nil {
			e.Error(err)
		}
		e.decided(decisionTunneled, 1)
	})
}

// Whoever answers for a name must not lead the proxy to services of its own host.
func TestNamesDoNotLeadToThisHostOrLink(t *testing.T) {
	own := []string{"127.0.0.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1", "::ffff:127.0.0.1", "255.255.255.255",
		"fd00:ec2::254", "168.63.129.16", "64:ff9b::a9fe:a9fe", "64:ff9b::127.0.0.1"}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		own = append(own, a.(*net.IPNet).IP.String())
	}
	for _, ip := range own {
		run(t, nil, func(e *env) {
			e.proxy.lookup = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr(ip)}, nil }
			if _, resp := e.connect("registry.example.com:443"); resp.StatusCode != http.StatusBadGateway || len(e.dialed) > 0 {
				e.Errorf("%s: %s, dialed %q", ip, resp.Status, e.dialed)
			}
			e.decided(decisionUnreachable, 1)
		})
	}
}

func TestTunnelTriesEachAddressOnce(t *testing.T) {
	run(t, nil, func(e *env) {
		lookups := 0
		e.proxy.lookup = func(context.Context, string) ([]netip.Addr, error) {
			lookups++
			return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("198.51.100.2")}, nil
		}
		e.proxy.dial = func(_ context.Context, _, address string) (net.Conn, error) {
			e.dialed = append(e.dialed, address)
			return nil, errors.New("refused")
		}
		_, resp := e.connect("registry.example.com:443")
		if want := []string{"198.51.100.1:443", "198.51.100.2:443"}; resp.StatusCode != http.StatusBadGateway || lookups != 1 || !slices.Equal(e.dialed, want) {
			e.Errorf("%s, %d lookups, dialed %q", resp.Status, lookups, e.dialed)
		}
	})
}

func TestIdleTunnelsAreClosed(t *testing.T) {
	run(t, nil, func(e *env) {
		c, _ := e.connect("registry.example.com:443")
		far := <-e.targets
		time.Sleep(tunnelIdle - time.Second)
		if _, err := io.WriteString(far, "x"); err != nil {
			e.Fatal(err)
		}
		if _, err := c.r.ReadByte(); err != nil {
			e.Fatal(err)
		}
		began := time.Now()
		if _, err := c.r.ReadByte(); err == nil || time.Since(began) != tunnelIdle {
			e.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// halfOpen is a connection whose other end does not notice that this one has ended.
type halfOpen struct{ net.Conn }

func (halfOpen) CloseWrite() error { return nil }

func TestHalfClosedTunnelsAreClosedSooner(t *testing.T) {
	run(t, nil, func(e *env) {
		dial := e.proxy.dial
		e.proxy.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			return halfOpen{c}, err
		}
		c, _ := e.connect("registry.example.com:443")
		far := <-e.targets
		if _, err := io.WriteString(far, "x"); err != nil {
			e.Fatal(err)
		}
		if _, err := c.r.ReadByte(); err != nil {
			e.Fatal(err)
		}
		began := time.Now()
		_ = c.Close()
		if _, err := far.Read(make([]byte, 1)); err == nil || time.Since(began) != halfClosedIdle {
			e.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestTunnelsAreCutAfterGrace(t *testing.T) {
	run(t, nil, func(e *env) {
		c, _ := e.connect("registry.example.com:443")
		far := <-e.targets
		go func() { _, _ = io.Copy(far, far) }()
		began := time.Now()
		e.shutdown()
		time.Sleep(grace - time.Second)
		if err := c.echoes(); err != nil {
			e.Errorf("during the grace period: %v", err)
		}
		if _, err := c.r.ReadByte(); err == nil || time.Since(began) != grace {
			e.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestShutdownEndsWithTheLastTunnel(t *testing.T) {
	run(t, nil, func(e *env) {
		c, _ := e.connect("registry.example.com:443")
		<-e.targets
		began := time.Now()
		e.shutdown()
		time.Sleep(time.Second)
		_ = c.Close()
		err := <-e.served
		e.served <- err
		if took := time.Since(began); took >= grace {
			e.Errorf("shutdown took %v", took)
		}
	})
}

// As long as the API is served during a shutdown, it can be reached through the proxy.
func TestConnectionsAreAcceptedUntilTheAPIListenerCloses(t *testing.T) {
	run(t, nil, func(e *env) {
		e.begin()
		time.Sleep(grace / 2)
		c, resp := e.connect("kubernetes.default.svc:443")
		if resp.StatusCode != http.StatusOK {
			e.Fatal(resp.Status)
		}
		if err := c.echoes(); err != nil {
			e.Error(err)
		}
	})
}

// TestWhatTunnelsSendTakesNoMemory: it is no header that is not complete.
func TestWhatTunnelsSendTakesNoMemory(t *testing.T) {
	ledger := accounts.New(accounts.Totals{accounts.Strangers: 100, accounts.Connections: 100, accounts.Unverified: 4 << 20, accounts.Requests: 64 << 20}, 1<<30)
	run(t, func(o *Options) { o.Connections = connections.New(ledger) }, func(e *env) {
		c, resp := e.connect("registry.example.com:443")
		if resp.StatusCode != http.StatusOK {
			e.Fatal(resp.Status)
		}
		before := ledger.Usage(accounts.Unverified).Used
		const size = 1 << 20
		far := <-e.targets
		go func() { _, _ = c.Conn.Write(make([]byte, size)) }()
		if n, err := io.CopyN(io.Discard, far, size); err != nil {
			e.Errorf("%d bytes arrived: %v", n, err)
		}
		if used := ledger.Usage(accounts.Unverified).Used; used > before {
			e.Errorf("the tunnel holds %d bytes", used-before)
		}
		e.proxy.cutAll()
	})
}

// TestTunnelsOfClosedConnectionsAreNotOpened: what a connection that has made room still did would count for nobody.
func TestTunnelsOfClosedConnectionsAreNotOpened(t *testing.T) {
	const limit = 3
	run(t, func(o *Options) { o.Connections = connections.New(ledger(limit)) }, func(e *env) {
		dialing := make(chan context.Context, limit)
		e.proxy.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			dialing <- ctx
			<-ctx.Done()
			return nil, ctx.Err()
		}
		clients := []*client{e.dial(), e.dial(), e.dial()}
		time.Sleep(dialTimeout / 2)
		for _, c := range clients {
			go func() { _, _ = io.WriteString(c, "CONNECT registry.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n") }()
		}
		time.Sleep(dialTimeout * 3 / 4)
		_ = e.dial()
		time.Sleep(time.Second)
		ended := 0
		for range limit {
			if ctx := <-dialing; ctx.Err() != nil {
				ended++
			}
		}
		if ended != 1 {
			e.Errorf("of %d dials %d ended, for one connection that made room", limit, ended)
		}
		e.proxy.cutAll()
	})
}
