package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/test/harness"
)

// A whole life in this process: serve reads and watches, drain, and leave no
// goroutine behind.
func TestServeLeavesNothingBehind(t *testing.T) {
	plane := harness.Start(t)
	before := goleak.IgnoreCurrent()
	address, admin := freeAddress(t), freeAddress(t)
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runWith(ctx, []string{"serve", "--kubeconfig=" + plane.Kubeconfig("sluice"), "--listen=" + address,
			"--admin-listen=" + admin, "--cert-dir=" + dir, "--log-level=warn", "--debug-headers",
			"--client-ca-file=" + filepath.Join(plane.Dir, "client-ca.crt")})
	}()
	harness.Eventually(t, "ready", func() error { return get("http://" + admin + "/readyz") })

	cfg := plane.RESTConfig("admin")
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
	harness.Eventually(t, "served out of the cache", func() error {
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
			t.Errorf("a watch was cut instead of ended: %v", err)
		}
		if !strings.Contains(string(body), `"k8s.io/initial-events-end":"true"`) {
			t.Errorf("a watch has no bookmark: %s", body)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before)
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

func TestServeRefusesBadSettings(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no such file", []string{"--config=/none"}, "/none"},
		{"bad address", []string{"--listen=nowhere"}, `listen: "nowhere" is not host:port`},
		{"half a key pair", []string{"--tls-cert-file=x"}, "tls: certFile and keyFile"},
		{"bad level", []string{"--log-level=loud"}, "log.level"},
		{"no kubeconfig", []string{"--kubeconfig=/none"}, "kubeconfig"},
		{"arguments", []string{"extra"}, "unknown command"},
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
