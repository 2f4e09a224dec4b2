package listwatch

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/proxy/upstream"
	"sluice/test/support/fake"
)

// Over HTTP/2, as in production, a broken stream is reset while its connection stays open.
func TestResetHTTP2StreamsAreResumed(t *testing.T) {
	for name, d := range fake.Encodings {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for a clock
			resumed := make(chan string, 1)
			event := d.Added("a/y@11")
			a := fake.New(t, d, []step{
				{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"), event[:len(event)/2])},
				{"watch 10", fake.Refuse(http.StatusTooManyRequests, "Retry-After", "0")},
				{"watch 10", d.Cut(event)},
				{"watch 11", func(w http.ResponseWriter, r *http.Request) {
					resumed <- r.Proto
					d.Stream()(w, r)
				}},
			})
			server := httptest.NewUnstartedServer(a)
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
			stores := make(chan *cache.Store, 1)
			client := New(u, d.GVR, Options{Opened: func() func() { return func() {} }})
			r := reflector.New(sameHistory{client}, reflector.Options{Publish: func(s *cache.Store) {
				if s != nil {
					stores <- s
				}
			}})
			ctx, end := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- r.Run(ctx) }()
			defer func() { <-ran }()
			defer end()
			select {
			case proto := <-resumed:
				if proto != "HTTP/2.0" {
					t.Errorf("resumed by %s", proto)
				}
			case <-time.After(time.Minute):
				t.Fatalf("not resumed; calls %v", a.Calls())
			}
			if state := (<-stores).Snapshot(); state.Version != 11 || state.Len() != 2 {
				t.Errorf("store has %d objects at version %d", state.Len(), state.Version)
			}
		})
	}
}
