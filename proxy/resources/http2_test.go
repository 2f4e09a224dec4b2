package resources

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"sluice/proxy/upstream"
)

// Over HTTP/2, as in production, a stream that breaks is reset while its
// connection lives on.
func TestResetStreamsAreResumed(t *testing.T) {
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			resumed := make(chan string, 1)
			event := d.added("a/y", "11")
			f := &fake{t: t, as: d, steps: []step{
				{"state", d.cut(d.added("a/x", "3"), d.synced("10"), event[:len(event)/2])},
				{"watch 10", status(http.StatusTooManyRequests, "Retry-After", "0")},
				{"watch 10", d.cut(event)},
				{"watch 11", func(w http.ResponseWriter, r *http.Request) {
					resumed <- r.Proto
					d.stream()(w, r)
				}},
			}}
			server := httptest.NewUnstartedServer(f)
			server.EnableHTTP2 = true
			server.Config.ErrorLog = zap.NewStdLog(zap.NewNop())
			server.StartTLS()
			defer server.Close()
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			u, err := upstream.New(upstream.Options{Config: &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}})
			if err != nil {
				t.Fatal(err)
			}
			defer u.Close()
			m := New(Options{Upstream: u, Log: zap.NewNop()})
			ctx, end := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- m.Run(ctx) }()
			defer func() { <-ran }()
			defer end()
			for reason := NotRunning; reason == NotRunning; { // until it runs
				_, reason = m.Lookup(d.gvr)
			}
			select {
			case proto := <-resumed:
				if proto != "HTTP/2.0" {
					t.Errorf("resumed by %s", proto)
				}
			case <-time.After(time.Minute):
				t.Fatalf("not resumed; calls %q", f.calls)
			}
			c, reason := m.Lookup(d.gvr)
			if c == nil {
				t.Fatal(reason)
			}
			if state := c.Store.Snapshot(); state.Version != 11 || state.Len() != 2 {
				t.Errorf("store has %d objects at version %d", state.Len(), state.Version)
			}
		})
	}
}
