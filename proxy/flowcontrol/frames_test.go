package flowcontrol

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"sluice/proxy/accounts"
)

// What net/http does for a request before its handler is done although its frames are left out.
func TestHandlersSeeWhatNetHTTPShowsThem(t *testing.T) {
	var seen *http.Request
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	ledger := accounts.New(accounts.Totals{
		accounts.Silent: 10, accounts.Strangers: 10, accounts.Connections: 10, accounts.Unverified: math.MaxInt64,
	}, math.MaxInt64)
	s.Listener, s.EnableHTTP2 = NewConnections(ledger).Listener(s.Listener), true
	s.Config.ConnContext = ConnContext
	if err := ServeHTTP2(s.Config); err != nil {
		t.Fatal(err)
	}
	s.StartTLS()
	defer s.Close()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, s.Listener.Addr().String())
	}
	client := &http.Transport{DialContext: dial, DialTLSContext: dial, Protocols: &http.Protocols{}}
	client.Protocols.SetHTTP2(true)
	client.Protocols.SetUnencryptedHTTP2(true)
	defer client.CloseIdleConnections()
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
