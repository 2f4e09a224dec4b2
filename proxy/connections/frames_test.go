package connections

import (
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"sluice/proxy/accounts"
	"sluice/proxy/request"
)

// serveHTTP2 serves a handler, and returns a client that speaks HTTP/2 over TLS whatever the scheme.
func serveHTTP2(t *testing.T, h http.HandlerFunc) *http.Transport {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	ledger := accounts.New(accounts.Totals{
		accounts.Silent: 10, accounts.Strangers: 10, accounts.Connections: 10, accounts.Unverified: math.MaxInt64,
	}, math.MaxInt64)
	s.Listener, s.EnableHTTP2 = New(ledger).Listener(s.Listener), true
	s.Config.ConnContext = ConnContext
	if err := ServeHTTP2(s.Config); err != nil {
		t.Fatal(err)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, s.Listener.Addr().String())
	}
	client := &http.Transport{DialContext: dial, DialTLSContext: dial, Protocols: &http.Protocols{}}
	client.Protocols.SetHTTP2(true)
	client.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// What net/http does for a request before its handler is done although its frames are left out.
func TestHandlersSeeWhatNetHTTPShowsThem(t *testing.T) {
	var seen *http.Request
	client := serveHTTP2(t, func(_ http.ResponseWriter, r *http.Request) { seen = r })
	for _, row := range []struct {
		method, scheme, opaque string
		handled                bool
	}{
		{http.MethodGet, "https", "", true},
		{http.MethodGet, "http", "", true}, // over TLS nevertheless
		{http.MethodGet, "https", "*", true},
		{http.MethodOptions, "https", "*", false},
	} {
		seen = nil
		u := &url.URL{Scheme: row.scheme, Host: "sluice", Path: "/", Opaque: row.opaque}
		r := &http.Request{Method: row.method, URL: u, Header: http.Header{}}
		resp, err := client.RoundTrip(r.WithContext(t.Context()))
		if err != nil {
			t.Fatalf("%+v: %v", row, err)
		}
		_ = resp.Body.Close()
		switch {
		case resp.StatusCode != http.StatusOK || (seen != nil) != row.handled:
			t.Errorf("%+v: status %d, the handler saw %v", row, resp.StatusCode, seen)
		case row.handled && (seen.TLS == nil || !seen.TLS.HandshakeComplete || seen.RemoteAddr == "" || seen.Body == nil):
			t.Errorf("%+v: the handler saw TLS %v, address %q, body %v", row, seen.TLS, seen.RemoteAddr, seen.Body)
		}
	}
}

// The server would keep the trailers of a request as long as its stream lasts, whatever they take.
func TestTrailersEndTheConnection(t *testing.T) {
	client := serveHTTP2(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	post := func(trailer http.Header) error {
		r := &http.Request{
			Method: http.MethodPost, URL: &url.URL{Scheme: "https", Host: "sluice", Path: "/"}, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader("body")), ContentLength: -1, Trailer: trailer,
		}
		resp, err := client.RoundTrip(r.WithContext(t.Context()))
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	if err := post(http.Header{"X": {"y"}}); err == nil {
		t.Error("trailers are accepted")
	}
	if err := post(nil); err != nil {
		t.Error(err)
	}
}

// Filters below change the context of a request, which may have ended before they return.
func TestRequestsEndAsTheyBegan(t *testing.T) {
	client := serveHTTP2(t, WithConnection(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		request.SetContext(r, request.With(ctx, &request.Info{}))
	})).ServeHTTP)
	for range 2 {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: "sluice", Path: "/"}, Header: http.Header{}}
		resp, err := client.RoundTrip(r.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}
