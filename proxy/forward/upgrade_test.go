package forward_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"sluice/proxy/forward/forwardtest"
	"sluice/proxy/request"
)

// echo takes any upgrade and sends back what it is sent, until it is sent no
// more. It tells when the connection has ended.
func echo(ended chan<- error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", r.Header.Get("Upgrade"))
		w.Header().Set("X-Stream-Protocol-Version", "v5")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err == nil {
			defer conn.Close()
			_, err = io.Copy(conn, rw)
		}
		ended <- err
	}
}

// exec is how a client asks for another protocol.
func exec(protocol string, more ...string) string {
	return "POST /api/v1/namespaces/ns/pods/p/exec?command=sh HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: " +
		protocol + "\r\n" + strings.Join(more, "") + "\r\n"
}

// tunnel sends a request and returns the connection and the answer to it.
func tunnel(t *testing.T, e *forwardtest.Env, text string) (*tls.Conn, *bufio.Reader, *http.Response) {
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

func TestUpgradesAreTunnels(t *testing.T) {
	for _, protocol := range []string{"SPDY/3.1", "websocket"} {
		for caller, name := range map[request.Caller]string{
			request.Unauthenticated: "stranger", request.BearerToken: "caller", request.ClientCert: "asserted",
		} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				ended := make(chan error, 1)
				e := forwardtest.New(t, forwardtest.Settings{Caller: caller, User: jane, ClientHTTP1: true, Handler: echo(ended)})
				conn, in, resp := tunnel(t, e, exec(protocol, "X-Stream-Protocol-Version: v5\r\n"))
				if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != protocol ||
					resp.Header.Get("X-Stream-Protocol-Version") != "v5" {
					t.Fatalf("answer is %s with %v", resp.Status, resp.Header)
				}
				if got := e.Next(t); got.Proto != "HTTP/1.1" || got.Header.Get("Upgrade") != protocol ||
					got.Header.Get("X-Stream-Protocol-Version") != "v5" {
					t.Errorf("upstream got %s with %v", got.Proto, got.Header)
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
				// The end of one direction is not that of the other.
				if err := conn.CloseWrite(); err != nil {
					t.Fatal(err)
				}
				if rest := forwardtest.ReadAll(t, in); rest != "" {
					t.Errorf("%q came last", rest)
				}
				if err := forwardtest.Receive(t, ended, "the upstream's end"); err != nil {
					t.Errorf("tunnel ended at the upstream with %v", err)
				}
			})
		}
	}
}

// Whoever goes away first takes the other along.
func TestTunnelEndsWithEitherSide(t *testing.T) {
	t.Run("client", func(t *testing.T) {
		ended := make(chan error, 1)
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, Handler: echo(ended)})
		conn, _, _ := tunnel(t, e, exec("SPDY/3.1"))
		conn.NetConn().Close()
		forwardtest.Receive(t, ended, "the upstream's end")
		e.End(t)
	})
	t.Run("upstream", func(t *testing.T) {
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, Handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "SPDY/3.1")
			w.WriteHeader(http.StatusSwitchingProtocols)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "last words")
				conn.Close()
			}
		}})
		conn, in, _ := tunnel(t, e, exec("SPDY/3.1"))
		if got := forwardtest.ReadAll(t, in); got != "last words" {
			t.Errorf("got %q", got)
		}
		conn.Close() // a client that stays may still have something to say
		e.End(t)
	})
	t.Run("gateway", func(t *testing.T) { // as when it has drained
		ended := make(chan error, 1)
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, Handler: echo(ended)})
		ctx, cut := context.WithCancel(t.Context())
		inner := e.Gateway.Config.Handler
		e.Gateway.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, r.WithContext(ctx)) })
		_, in, _ := tunnel(t, e, exec("SPDY/3.1"))
		cut()
		if got := forwardtest.ReadAll(t, in); got != "" {
			t.Errorf("got %q", got)
		}
		forwardtest.Receive(t, ended, "the upstream's end")
	})
}

// CVE-2018-1002105: a connection on which the upstream has not changed the
// protocol must not carry what the client sends next. The bytes after the
// answer are another request, to be looked at like any other.
func TestRefusedUpgradeIsNoTunnel(t *testing.T) {
	answers := map[string]func(w http.ResponseWriter, r *http.Request){
		"403": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "{}")
		},
		"200": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
		"200 that looks like it": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "SPDY/3.1")
			_, _ = io.WriteString(w, "{}")
		},
		"302": func(w http.ResponseWriter, r *http.Request) { // CVE-2020-8559
			w.Header().Set("Location", "https://evil.example/exec")
			w.WriteHeader(http.StatusFound)
		},
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	}
	for name, answer := range answers {
		for caller, who := range map[request.Caller]string{request.BearerToken: "caller", request.ClientCert: "asserted"} {
			t.Run(name+" "+who, func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: caller, User: jane, ClientHTTP1: true, Handler: answer})
				second := "GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nImpersonate-User: admin\r\nX-Remote-User: admin\r\nConnection: close\r\n\r\n"
				_, in, resp := tunnel(t, e, exec("SPDY/3.1")+second)
				if want := name[:3]; fmt.Sprint(resp.StatusCode) != want {
					t.Errorf("answer is %s, want %s", resp.Status, want)
				}
				if upgrade := resp.Header.Get("Upgrade"); upgrade != "" {
					t.Errorf("answer is an upgrade to %q", upgrade)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				if got := e.Next(t); got.URI != "/api/v1/namespaces/ns/pods/p/exec?command=sh" {
					t.Errorf("upstream was asked for %s", got.URI)
				}
				// Either the connection ends here, or the second request is
				// one of its own, with the caller's own identity.
				if _, err := http.ReadResponse(in, nil); err != nil {
					return
				}
				got := e.Next(t)
				if got.URI != "/api/v1/secrets" || got.Header.Get("X-Remote-User") != "" {
					t.Errorf("then the upstream was asked for %s with %v", got.URI, got.Header)
				}
				if named := got.Header.Get("Impersonate-User"); caller == request.ClientCert && named != "jane" {
					t.Errorf("then the caller was %q", named)
				}
			})
		}
	}
}

// An upstream that changes to what was not asked for is not believed.
func TestUnaskedUpgradeIsAnError(t *testing.T) {
	handler := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "something/1")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, "raw bytes")
			conn.Close()
		}
	}
	for name, ask := range map[string]string{
		"another protocol": exec("SPDY/3.1"),
		"none":             "GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, UpstreamHTTP1: true, Handler: handler})
			_, _, resp := tunnel(t, e, ask)
			if body := forwardtest.ReadAll(t, resp.Body); resp.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "raw bytes") {
				t.Errorf("answer is %s with %q", resp.Status, body)
			}
		})
	}
}

// HTTP/2 has no upgrades and no connection headers: such requests are refused
// before anything is made of them.
func TestConnectionHeadersOverHTTP2AreRefused(t *testing.T) {
	tests := [][2]string{
		{"connection", "Upgrade"}, {"connection", "impersonate-user"}, {"upgrade", "SPDY/3.1"},
		{"keep-alive", "5"}, {"transfer-encoding", "chunked"}, {"proxy-connection", "x"},
		{"Impersonate-User", "admin"}, {"x-remote-user ", "admin"}, {"x-remote-user", "admin\r\nimpersonate-user: x"},
	}
	for _, field := range tests {
		t.Run(field[0], func(t *testing.T) {
			e := forwardtest.New(t, forwardtest.Settings{Caller: request.ClientCert, User: jane})
			if code := rawHTTP2(t, e, field); code == "200" {
				t.Errorf("answer is %s", code)
			}
			e.ExpectNone(t)
		})
	}
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.ClientCert, User: jane})
	if code := rawHTTP2(t, e, [2]string{"accept", "*/*"}); code != "200" {
		t.Errorf("answer to a good request is %s", code)
	}
}

// rawHTTP2 sends a GET with a header field that no good client sends, and
// returns the status of the answer, or how the request was refused.
func rawHTTP2(t *testing.T, e *forwardtest.Env, field [2]string) string {
	t.Helper()
	conn := dialFor(t, e, "h2")
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/api/v1/pods"}, field,
	} {
		if err := enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(framer.WriteSettings(), framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true,
	})); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := framer.ReadFrame()
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return f.ErrCode.String()
		case *http2.GoAwayFrame:
			return f.ErrCode.String()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
