package wire

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

// Front starts a reverse proxy in front of the server of a configuration, until the test ends. It returns its server and the
// configuration of its clients. The proxy changes no request and buffers no response, and resets the client's stream when the
// server fails. change makes it the handler that is served.
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
	silent := log.New(io.Discard, "", 0) // the faults are intended
	server := httptest.NewUnstartedServer(change(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      silent,
	}))
	server.EnableHTTP2, server.Config.ErrorLog = true, silent
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	through := rest.CopyConfig(to)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	through.Host, through.TLSClientConfig = server.URL, rest.TLSClientConfig{CAData: ca}
	return server, through
}
