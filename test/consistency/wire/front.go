package wire

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

// Front starts a reverse proxy in front of the server of a configuration, until the test ends. It returns its server and the
// configuration of its clients. change makes the proxy the handler that is served.
func Front(t testing.TB, to *rest.Config, change func(*httputil.ReverseProxy) http.Handler) (*httptest.Server, *rest.Config) {
	t.Helper()
	upstream := rest.AnonymousClientConfig(to)
	upstream.DisableCompression = true // client and server negotiate it end to end
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(to.Host)
	if err != nil {
		t.Fatal(err)
	}
	server := Serve(change(newProxy(base, transport)))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	through := rest.CopyConfig(to)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	through.Host, through.TLSClientConfig = server.URL, rest.TLSClientConfig{CAData: ca}
	return server, through
}
