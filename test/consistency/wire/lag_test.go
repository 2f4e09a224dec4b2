package wire

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// startOrigin starts a server that answers with a text.
func startOrigin(t *testing.T) *rest.Config {
	origin := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("text")) }))
	t.Cleanup(origin.Close)
	return &rest.Config{Host: origin.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// A gateway answers too early also without a Lag, only more rarely.
func TestLagDelaysWatchesOnly(t *testing.T) {
	lag := &Lag{}
	lag.Set(time.Hour, time.Hour)
	raw := harness.RawClientFor(t, lag.Front(t, startOrigin(t)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if list, err := raw.Get(ctx, "/things?limit=1", ""); err != nil || list.Status != http.StatusOK || string(list.Body) != "text" {
		t.Errorf("a list: %+v, %v", list, err)
	}
	watch, err := raw.Open(ctx, harness.Request{Path: "/things?watch=1"})
	if err != nil || watch.StatusCode != http.StatusOK {
		t.Fatalf("a watch: %+v, %v", watch, err)
	}
	defer watch.Body.Close()
	body := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(watch.Body)
		body <- string(text)
	}()
	select {
	case text := <-body:
		t.Fatalf("a watch is not delayed: %q", text)
	case <-time.After(100 * time.Millisecond):
	}
	lag.Set(0, 0)
	if text := <-body; text != "text" {
		t.Errorf("a delayed watch: %q", text)
	}
}
