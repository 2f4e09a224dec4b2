package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/test/harness"
)

// Serves reads and watches against the real apiserver, and drains.
func TestServeEndsWatchesAndLeavesNoGoroutine(t *testing.T) {
	apiserver := harness.Start(t)
	before := goleak.IgnoreCurrent()
	address, admin := freeAddress(t), freeAddress(t)
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runWith(ctx, []string{"serve", "--kubeconfig=" + apiserver.Kubeconfig("sluice"), "--listen=" + address,
			"--admin-listen=" + admin, "--cert-dir=" + dir, "--log-level=warn", "--debug-headers",
			"--client-ca-file=" + filepath.Join(apiserver.Dir, "client-ca.crt")})
	}()
	harness.Eventually(t, "ready", func() error { return get("http://" + admin + "/readyz") })

	cfg := apiserver.RESTConfig("admin")
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
	}}
	open := func(path string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+cfg.BearerToken)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	harness.Eventually(t, "served from the cache", func() error {
		resp := open("/api/v1/namespaces?resourceVersion=0")
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		if source := resp.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "cache") {
			return fmt.Errorf("from %q", source)
		}
		return nil
	})
	var watches []*http.Response
	for range 20 {
		watches = append(watches, open("/api/v1/namespaces?watch=1&resourceVersion=0&allowWatchBookmarks=true"))
	}
	stop()
	for _, w := range watches {
		body, err := io.ReadAll(w.Body)
		w.Body.Close()
		if err != nil {
			t.Errorf("a watch ended with %v instead of an orderly end", err)
		}
		if !strings.Contains(string(body), `"k8s.io/initial-events-end":"true"`) {
			t.Errorf("a watch without the bookmark at the end of its initial events: %s", body)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// writeFile writes a file and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func get(url string) error {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", resp.Status)
	}
	return nil
}

func TestServeRejectsInvalidSettings(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"missing file", []string{"--config=/none"}, "/none"},
		{"invalid address", []string{"--listen=nowhere"}, `listen: "nowhere" is not host:port`},
		{"certificate without key", []string{"--tls-cert-file=x"}, "tls: certFile and keyFile"},
		{"unknown log level", []string{"--log-level=loud"}, "log.level"},
		{"missing kubeconfig", []string{"--kubeconfig=/none"}, "kubeconfig"},
		{"argument", []string{"extra"}, "unknown command"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := runWith(t.Context(), append([]string{"serve"}, tt.args...))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error about %q", err, tt.want)
			}
		})
	}
}
