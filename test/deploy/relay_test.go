package deploy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

// faultyRelay passes requests of gateways to an apiserver, with faults that no apiserver makes on demand.
type faultyRelay struct {
	upstream *rest.Config // of a gateway whose apiserver is the relay
	faults   map[string]*fault
	next     http.RoundTripper
}

// fault is one of a resource.
type fault struct {
	on   atomic.Bool
	code int          // by which lists and initial events are refused; without one, watches lose what the apiserver sends
	lost atomic.Int64 // bytes
}

func newFaultyRelay(t *testing.T, c *harness.ControlPlane, faults map[string]*fault) *faultyRelay {
	t.Helper()
	relay := &faultyRelay{faults: faults}
	_, relay.upstream = wire.Front(t, c.RESTConfig("sluice"), func(proxy *httputil.ReverseProxy) http.Handler {
		relay.next, proxy.Transport = proxy.Transport, relay
		return proxy
	})
	return relay
}

// RoundTrip implements http.RoundTripper.
func (f *faultyRelay) RoundTrip(r *http.Request) (*http.Response, error) {
	q, fault := r.URL.Query(), f.faults[filepath.Base(r.URL.Path)]
	watch := q.Get("watch") != ""
	switch {
	case fault == nil:
	case fault.code != 0 && fault.on.Load() && (!watch || q.Get("sendInitialEvents") != ""):
		refusal := httptest.NewRecorder()
		http.Error(refusal, "refused", fault.code)
		return refusal.Result(), nil
	case fault.code == 0 && watch:
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
