package forward_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// echo accepts any upgrade and sends back what it receives, until the client closes its direction.
// It then sends the error of the connection to ended.
func echo(ended chan<- error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Stream-Protocol-Version", "v5")
		switching(r.Header.Get("Upgrade"), func(conn net.Conn, rw *bufio.ReadWriter) {
			_, err := io.Copy(conn, rw)
			ended <- err
		})(w, r)
	}
}

// switching switches to a protocol and closes the connection when talk returns.
func switching(protocol string, talk func(conn net.Conn, rw *bufio.ReadWriter)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", protocol)
		w.WriteHeader(http.StatusSwitchingProtocols)
		if conn, rw, err := http.NewResponseController(w).Hijack(); err == nil {
			defer conn.Close()
			talk(conn, rw)
		}
	}
}

// says is a talk of one text.
func says(text string) func(net.Conn, *bufio.ReadWriter) {
	return func(conn net.Conn, _ *bufio.ReadWriter) { _, _ = io.WriteString(conn, text) }
}

// exec returns a request to upgrade to a protocol.
func exec(protocol string, headers ...string) string {
	return "POST /api/v1/namespaces/ns/pods/p/exec?command=sh HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: " +
		protocol + "\r\n" + strings.Join(headers, "") + "\r\n"
}

// openTunnel sends a request and returns the connection and the response.
func openTunnel(t *testing.T, e *forwardtest.Env, text string) (*tls.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	conn := dial(t, e)
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, in, resp
}

// TestUpgradeIsATunnel of any bytes, whose directions close separately.
func TestUpgradeIsATunnel(t *testing.T) {
	for _, protocol := range []string{"SPDY/3.1", "websocket"} {
		for caller, name := range map[request.Caller]string{
			request.Unauthenticated: "anonymous", request.BearerToken: "token", request.ClientCert: "certificate",
		} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				ended := make(chan error, 1)
				e := forwardtest.New(t, forwardtest.Settings{Caller: caller, User: jane, ClientHTTP1: true, Handler: echo(ended)})
				conn, in, resp := openTunnel(t, e, exec(protocol, "X-Stream-Protocol-Version: v5\r\n"))
				if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != protocol ||
					resp.Header.Get("X-Stream-Protocol-Version") != "v5" {
					t.Fatalf("response is %s with %v", resp.Status, resp.Header)
				}
				if got := e.Next(t); got.Proto != "HTTP/1.1" || got.Header.Get("Upgrade") != protocol ||
					got.Header.Get("X-Stream-Protocol-Version") != "v5" {
					t.Errorf("upstream received %s with %v", got.Proto, got.Header)
				}
				for i := range 3 {
					sent := fmt.Sprintf("\x80\x03\x00%d any bytes\r\n\r\n", i)
					if _, err := io.WriteString(conn, sent); err != nil {
						t.Fatal(err)
					}
					got := make([]byte, len(sent))
					if _, err := io.ReadFull(in, got); err != nil || string(got) != sent {
						t.Fatalf("echo of %q is %q, %v", sent, got, err)
					}
				}
				if err := conn.CloseWrite(); err != nil {
					t.Fatal(err)
				}
				if rest := forwardtest.ReadAll(t, in); rest != "" {
					t.Errorf("%q after the last echo", rest)
				}
				if err := forwardtest.Receive(t, ended, "end at the upstream"); err != nil {
					t.Errorf("upstream ended with %v", err)
				}
			})
		}
	}
}

// TestSwitchOfProtocolsHasNoFraming whatever the method and the upstream: what follows it are bytes of the other protocol.
func TestSwitchOfProtocolsHasNoFraming(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for name, framing := range map[string]string{"none": "", "length": "Content-Length: 0\r\n", "chunked": "Transfer-Encoding: chunked\r\n"} {
			t.Run(method+" "+name, func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, Handler: func(w http.ResponseWriter, _ *http.Request) {
					conn, _, err := http.NewResponseController(w).Hijack()
					if err == nil {
						_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"+framing+"\r\n\x80\x03")
						conn.Close()
					}
				}})
				conn := dial(t, e)
				if _, err := io.WriteString(conn, strings.Replace(exec("SPDY/3.1"), http.MethodPost, method, 1)); err != nil {
					t.Fatal(err)
				}
				want := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n\x80\x03"
				if got := forwardtest.ReadAll(t, conn); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				conn.Close() // until then the client may send
				e.End(t)
			})
		}
	}
}

func TestTunnelEndsWithEitherSide(t *testing.T) {
	t.Run("client", func(t *testing.T) {
		ended := make(chan error, 1)
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, Handler: echo(ended)})
		conn, _, _ := openTunnel(t, e, exec("SPDY/3.1"))
		conn.NetConn().Close()
		forwardtest.Receive(t, ended, "end at the upstream")
		e.End(t)
	})
	t.Run("upstream", func(t *testing.T) {
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, Handler: switching("SPDY/3.1", says("last bytes"))})
		conn, in, _ := openTunnel(t, e, exec("SPDY/3.1"))
		if got := forwardtest.ReadAll(t, in); got != "last bytes" {
			t.Errorf("got %q", got)
		}
		conn.Close() // until then the client may send
		e.End(t)
	})
	t.Run("gateway", func(t *testing.T) { // as after a drain
		ended := make(chan error, 1)
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, Handler: echo(ended)})
		ctx, cancel := context.WithCancel(t.Context())
		inner := e.Gateway.Config.Handler
		e.Gateway.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, r.WithContext(ctx)) })
		_, in, _ := openTunnel(t, e, exec("SPDY/3.1"))
		cancel()
		if got := forwardtest.ReadAll(t, in); got != "" {
			t.Errorf("got %q", got)
		}
		forwardtest.Receive(t, ended, "end at the upstream")
	})
}

// TestSessionsThatMakeRoomEnd although their clients read nothing.
func TestSessionsThatMakeRoomEnd(t *testing.T) {
	full := make(chan struct{}, 2)
	e := forwardtest.New(t, forwardtest.Settings{
		Caller: request.BearerToken, User: jane, ClientHTTP1: true, Held: 160 << 10, // for two sessions
		Handler: switching("SPDY/3.1", func(conn net.Conn, _ *bufio.ReadWriter) {
			for err := error(nil); err == nil; {
				_ = conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
				_, err = conn.Write(make([]byte, 1<<20))
			}
			full <- struct{}{}
			_, _ = io.Copy(io.Discard, conn)
		}),
	})
	for range 2 {
		openTunnel(t, e, exec("SPDY/3.1"))
		forwardtest.Receive(t, full, "session whose client reads nothing")
	}
	other, err := e.Memory.Users.TakeUntil(limits.Caller{Group: "bob"}, e.Memory.PassedBytes-(8<<10), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	e.End(t)
}

// TestRefusedUpgradeIsNoTunnel: CVE-2018-1002105. Unless the upstream switches protocols, what
// follows on the client's connection is another request, which is authenticated like any other.
func TestRefusedUpgradeIsNoTunnel(t *testing.T) {
	responses := map[string]func(w http.ResponseWriter, r *http.Request){
		"403": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "{}")
		},
		"200": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
		"200 with upgrade headers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "SPDY/3.1")
			_, _ = io.WriteString(w, "{}")
		},
		"502 in place of 302": func(w http.ResponseWriter, _ *http.Request) { // CVE-2020-8559
			w.Header().Set("Location", "https://evil.example/exec")
			w.WriteHeader(http.StatusFound)
		},
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	}
	for name, handler := range responses {
		for caller, credentials := range map[request.Caller]string{request.BearerToken: "token", request.ClientCert: "certificate"} {
			t.Run(name+" "+credentials, func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: caller, User: jane, ClientHTTP1: true, Handler: handler})
				second := "GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nImpersonate-User: admin\r\nX-Remote-User: admin\r\nConnection: close\r\n\r\n"
				_, in, resp := openTunnel(t, e, exec("SPDY/3.1")+second)
				if want := name[:3]; fmt.Sprint(resp.StatusCode) != want {
					t.Errorf("response is %s, want %s", resp.Status, want)
				}
				if upgrade := resp.Header.Get("Upgrade"); upgrade != "" {
					t.Errorf("response upgrades to %q", upgrade)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				if got := e.Next(t); got.URI != "/api/v1/namespaces/ns/pods/p/exec?command=sh" {
					t.Errorf("upstream received %s", got.URI)
				}
				// Either the connection ends, or the second request has the client's identity.
				if _, err := http.ReadResponse(in, nil); err != nil {
					return
				}
				got := e.Next(t)
				if got.URI != "/api/v1/secrets" || got.Header.Get("X-Remote-User") != "" {
					t.Errorf("then upstream received %s with %v", got.URI, got.Header)
				}
				if name := got.Header.Get("Impersonate-User"); caller == request.ClientCert && name != "jane" {
					t.Errorf("then the user was %q", name)
				}
			})
		}
	}
}

// TestOnlySessionsAskToSwitch: a list is an ordinary request, whatever its headers ask for.
func TestOnlySessionsAskToSwitch(t *testing.T) {
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, User: jane, ClientHTTP1: true})
	_, _, resp := openTunnel(t, e, "GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\n"+
		"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	if got := e.Next(t); got.Proto != "HTTP/2.0" || got.Header.Get("Connection") != "" || got.Header.Get("Upgrade") != "" {
		t.Errorf("upstream received %s with %v", got.Proto, got.Header)
	}
}

func TestUnrequestedUpgradeIsAnError(t *testing.T) {
	handler := switching("something/1", says("raw bytes"))
	for name, text := range map[string]string{
		"another protocol": exec("SPDY/3.1"),
		"no upgrade":       "GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, UpstreamHTTP1: true, Handler: handler})
			_, _, resp := openTunnel(t, e, text)
			if body := forwardtest.ReadAll(t, resp.Body); resp.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "raw bytes") {
				t.Errorf("response is %s with %q", resp.Status, body)
			}
		})
	}
}
