package deploy

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sluice/test/harness"
)

// faultyRelay passes requests of gateways to an apiserver, with faults that no apiserver makes on demand.
type faultyRelay struct {
	kubeconfig string // of a gateway whose apiserver is the relay
	faults     map[string]*fault
	next       http.RoundTripper
}

// fault is one of a resource.
type fault struct {
	on    atomic.Bool
	fills bool         // lists and initial events are refused; otherwise, watches lose what the apiserver sends
	lost  atomic.Int64 // bytes
}

func newFaultyRelay(t *testing.T, c *harness.ControlPlane, faults map[string]*fault) *faultyRelay {
	t.Helper()
	config := c.RESTConfig("sluice")
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, DisableCompression: true}
	relay := &faultyRelay{faults: faults, next: transport}
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: relay, FlushInterval: -1,
	})
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close(); transport.CloseIdleConnections() })
	relay.kubeconfig = filepath.Join(t.TempDir(), "relay.kubeconfig")
	file, err := clientcmd.LoadFromFile(c.Kubeconfig("sluice"))
	if err != nil {
		t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name := range file.Clusters {
		file.Clusters[name] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: ca}
	}
	if err := clientcmd.WriteToFile(*file, relay.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return relay
}

// RoundTrip implements http.RoundTripper.
func (f *faultyRelay) RoundTrip(r *http.Request) (*http.Response, error) {
	q, fault := r.URL.Query(), f.faults[filepath.Base(r.URL.Path)]
	watch := q.Get("watch") != ""
	switch {
	case fault == nil:
	case fault.fills && fault.on.Load() && (!watch || q.Get("sendInitialEvents") != ""):
		refusal := httptest.NewRecorder()
		http.Error(refusal, "no leader", http.StatusServiceUnavailable)
		return refusal.Result(), nil
	case !fault.fills && watch:
		resp, err := f.next.RoundTrip(r)
		if err == nil {
			resp.Body = lossyBody{resp.Body, fault}
		}
		return resp, err
	}
	return f.next.RoundTrip(r)
}

// lossyBody is a watch that loses what it reads while its fault is on. An event is shorter than a read.
type lossyBody struct {
	io.ReadCloser
	fault *fault
}

// Read implements io.Reader.
func (b lossyBody) Read(p []byte) (int, error) {
	for {
		n, err := b.ReadCloser.Read(p)
		if !b.fault.on.Load() || err != nil {
			return n, err
		}
		b.fault.lost.Add(int64(n))
	}
}
