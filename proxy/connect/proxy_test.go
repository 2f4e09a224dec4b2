package connect

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNamesOfTheAPIServerAreIntercepted(t *testing.T) {
	for _, target := range []string{
		"kubernetes.default.svc:443", "KUBERNETES.Default.svc:443", "kubernetes.default.svc.:443", "10.0.0.1:6443", "[2001:db8::1]:443", "[2001:DB8:0::1]:443",
		"[::ffff:10.0.0.1]:6443",
	} {
		run(t, nil, func(e *env) {
			c, resp := e.connect(target)
			if resp.StatusCode != http.StatusOK {
				e.Fatalf("%s: %s", target, resp.Status)
			}
			if err := c.echoes(); err != nil {
				e.Errorf("%s: %v", target, err)
			}
			e.decided(decisionIntercepted, 1)
		})
	}
}

func TestOtherDestinationsAreRefused(t *testing.T) {
	for target, want := range map[string]int{
		"example.com:443":                         http.StatusForbidden,
		"127.0.0.1:9443":                          http.StatusForbidden, // the admin listener
		"localhost:9443":                          http.StatusForbidden,
		"169.254.169.254:80":                      http.StatusForbidden,
		"kubernetes.default.svc:9443":             http.StatusForbidden,
		"kubernetes.default.svc.evil.com:443":     http.StatusForbidden,
		"10.0.0.1:443":                            http.StatusForbidden,
		"kubernetes.default.svc":                  http.StatusBadRequest,
		"kubernetes.default.svc:+443":             http.StatusBadRequest,
		"kubernetes.default.svc..:443":            http.StatusForbidden,
		"kubernetes.default.svc:443@evil.com:443": http.StatusBadRequest,
		"evil.com@kubernetes.default.svc:443":     http.StatusForbidden,
		"kubernetes.default.svc:443/../evil.com":  http.StatusBadRequest,
		"http://kubernetes.default.svc:443":       http.StatusBadRequest,
		"/kubernetes.default.svc:443":             http.StatusForbidden,
		"167772161:6443":                          http.StatusForbidden, // 10.0.0.1
		"[2001:db8::1%25lo]:443":                  http.StatusForbidden,
	} {
		run(t, nil, func(e *env) {
			c, resp := e.connect(target)
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != want || err != nil {
				e.Errorf("%s: %s, %v, want %d", target, resp.Status, err, want)
			}
			if want == http.StatusForbidden && (!strings.Contains(resp.Status, "kubernetes.default.svc:443") || !strings.Contains(string(body), `"reason":"Forbidden"`)) {
				e.Errorf("%s: unclear refusal %s\n%s", target, resp.Status, body)
			}
			if _, err := c.r.ReadByte(); err == nil {
				e.Errorf("%s: the connection is open after the refusal", target)
			}
		})
	}
}

func TestRequestTargetAloneNamesTheDestination(t *testing.T) {
	run(t, nil, func(e *env) {
		c := e.dial()
		if resp := c.send("CONNECT evil.com:443 HTTP/1.1\r\nHost: kubernetes.default.svc:443\r\n\r\n"); resp.StatusCode != http.StatusForbidden {
			e.Error(resp.Status)
		}
		e.decided(decisionNotAllowed, 1)
	})
}

func TestConnectWithBodyIsRefused(t *testing.T) {
	for _, header := range []string{"Content-Length: 4", "Transfer-Encoding: chunked"} {
		run(t, nil, func(e *env) {
			if _, resp := e.connect("kubernetes.default.svc:443", header); resp.StatusCode != http.StatusBadRequest {
				e.Errorf("%s: %s", header, resp.Status)
			}
		})
	}
}

// What a client sends before the reply to its CONNECT belongs to the connection that it asks for.
func TestEarlyBytesAreKept(t *testing.T) {
	run(t, nil, func(e *env) {
		c := e.dial()
		early := strings.Repeat("early", 2000) // more than the buffer of the server
		if resp := c.send("CONNECT kubernetes.default.svc:443 HTTP/1.1\r\nHost: x\r\n\r\n" + early); resp.StatusCode != http.StatusOK {
			e.Fatal(resp.Status)
		}
		got := make([]byte, len(early))
		if _, err := io.ReadFull(c.r, got); err != nil || string(got) != early {
			e.Errorf("%v, %.20q", err, got)
		}
	})
}

func TestOnlyConnectIsServed(t *testing.T) {
	for request, want := range map[string]int{
		"GET http://kubernetes.default.svc:443/api":                     http.StatusForbidden,
		"GET https://kubernetes.default.svc/api":                        http.StatusForbidden,
		"POST http://169.254.169.254/latest":                            http.StatusForbidden,
		"GET ftp://example.com/":                                        http.StatusForbidden,
		"GET /api":                                                      http.StatusMisdirectedRequest,
		"GET //kubernetes.default.svc/api":                              http.StatusMisdirectedRequest,
		"OPTIONS *":                                                     http.StatusMisdirectedRequest,
		"GET http://x:443/ HTTP/1.1\r\nConnection: abc":                 http.StatusForbidden,
		"GET http://x/ HTTP/1.1\r\nContent-Length: 0":                   http.StatusForbidden,
		"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket": http.StatusMisdirectedRequest,
	} {
		run(t, nil, func(e *env) {
			line, more, _ := strings.Cut(request, " HTTP/1.1")
			resp := e.dial().send(line + " HTTP/1.1\r\nHost: x" + more + "\r\n\r\n")
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != want || !resp.Close || !strings.Contains(string(body), `"kind":"Status"`) {
				e.Errorf("%q: %s, want %d\nthe connection is closed: %v\n%s", request, resp.Status, want, resp.Close, body)
			}
			e.decided(decisionNotConnect, 1)
		})
	}
}

func TestSlowRequestsAreClosed(t *testing.T) {
	for _, part := range []string{"", "CONN", "CONNECT kubernetes.default.svc:443 HTTP/1.1\r\nX: ", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"} {
		run(t, nil, func(e *env) {
			c := e.dial()
			go func() { _, _ = io.WriteString(c.Conn, part) }()
			began := time.Now()
			_, _ = io.Copy(io.Discard, c.r)
			if took, limit := time.Since(began), e.proxy.options.Limits.ReadHeaderTimeout.Duration; took > limit+time.Second {
				e.Errorf("%q: closed after %v, want %v", part, took, limit)
			}
		})
	}
}

func TestLargeHeadersAreRefused(t *testing.T) {
	run(t, nil, func(e *env) {
		if _, resp := e.connect("kubernetes.default.svc:443", "X: "+strings.Repeat("x", 100_000)); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			e.Error(resp.Status)
		}
	})
}

// A connection counts once, also after it was handed over, and makes room.
func TestConnectionsThatAreHandedOverKeepTheirPlaces(t *testing.T) {
	const limit = 3
	run(t, func(o *Options) { o.Memory = places(limit) }, func(e *env) {
		var all []*client
		for i := range limit {
			c, resp := e.connect("kubernetes.default.svc:443")
			if resp.StatusCode != http.StatusOK {
				e.Fatal(i, resp.Status)
			}
			all = append(all, c)
		}
		for i, c := range all {
			if err := c.echoes(); err != nil {
				e.Errorf("connection %d below the limit: %v", i, err)
			}
		}
		time.Sleep(5 * time.Second) // they have waited for their clients since
		c, resp := e.connect("kubernetes.default.svc:443")
		if resp.StatusCode != http.StatusOK || c.echoes() != nil {
			e.Errorf("beyond the limit: %s", resp.Status)
		}
		if err := all[0].echoes(); err == nil {
			e.Error("the oldest connection is open beyond the limit")
		}
		for i, c := range all[1:] {
			if err := c.echoes(); err != nil {
				e.Errorf("connection %d: %v", i+1, err)
			}
		}
	})
}

func TestShutdownClosesTheListenerAndRefusesConnections(t *testing.T) {
	run(t, nil, func(e *env) {
		waiting := e.dial()
		synctest.Wait()
		_ = e.api.Close()
		synctest.Wait()
		if _, err := e.listener.Dial(e.Context(), "", ""); err == nil {
			e.Error("connected after shutdown")
		}
		if _, err := io.WriteString(waiting.Conn, "CONNECT kubernetes.default.svc:443 HTTP/1.1\r\nHost: x\r\n\r\n"); err == nil {
			if resp, err := http.ReadResponse(waiting.r, nil); err == nil && resp.StatusCode != http.StatusServiceUnavailable {
				e.Error(resp.Status)
			}
		}
	})
}

func TestServeFailsWithItsListener(t *testing.T) {
	run(t, nil, func(e *env) {
		_ = e.listener.Close()
		err := <-e.served
		e.served <- nil
		if err == nil {
			e.Error("no error")
		}
	})
}

func TestMergedListenerPassesOnErrors(t *testing.T) {
	run(t, nil, func(e *env) {
		other := New(e.proxy.options)
		l := other.Merge(failing{e.api})
		for range 2 {
			if _, err := l.Accept(); err == nil {
				e.Error("no error")
			}
		}
		if err := l.Close(); err != nil {
			e.Error(err)
		}
		if _, err := l.Accept(); err == nil {
			e.Error("no error after Close")
		}
	})
}

// failing fails to accept, as for want of files.
type failing struct{ net.Listener }

func (failing) Accept() (net.Conn, error) { return nil, fmt.Errorf("too many open files") }
func (failing) Close() error              { return nil }
