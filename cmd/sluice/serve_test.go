package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/config"
	"sluice/test/harness"
)

func TestMain(m *testing.M) {
	if _, _, err := newLogger(config.Log{Level: "error", Format: "json"}); err != nil { // before a test makes the libraries log
		panic(err)
	}
	os.Exit(m.Run())
}

// Serves reads and watches against the real apiserver, and drains.
func TestServeEndsWatchesAndLeavesNoGoroutine(t *testing.T) {
	apiserver := harness.Start(t)
	before := goleak.IgnoreCurrent()
	s := startServe(t, "--kubeconfig="+apiserver.Kubeconfig("sluice"), "--cert-dir="+t.TempDir(), "--log-level=warn", "--debug-headers",
		"--client-ca-file="+filepath.Join(apiserver.Dir, "client-ca.crt"))
	harness.Eventually(t, "ready", func() error { return get(s.admin + "/readyz") })

	cfg := apiserver.RESTConfig("admin")
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
	}}
	open := func(path string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.api+path, nil)
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
	s.stop()
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
	s.wait(t)
	client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	harness.Eventually(t, "goroutines have ended", func() error { return goleak.Find(before) })
}

// serving is sluice serve in this process.
type serving struct {
	api, admin string // URLs
	stop       func()
	ended      chan error
}

// startServe runs sluice serve on free ports until stop is called, and returns when it listens.
func startServe(t *testing.T, args ...string) *serving {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := &serving{stop: stop, ended: make(chan error, 1)}
	stdout := os.Stdout
	os.Stdout = in // which receives the addresses
	t.Cleanup(func() { os.Stdout = stdout })
	ready := make(chan string, 1)
	go func() {
		defer out.Close()
		line, _ := bufio.NewReader(out).ReadString('\n') // what is there if it ends before
		ready <- line
	}()
	go func() {
		err := runWith(ctx, append([]string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"}, args...))
		in.Close()
		s.ended <- err
	}()
	if line := <-ready; line == "" {
		t.Fatal(<-s.ended)
	} else if _, err := fmt.Sscanf(line, "ready %s admin %s", &s.api, &s.admin); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return s
}

// wait waits until serve has returned.
func (s *serving) wait(t *testing.T) {
	t.Helper()
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// writeFile writes a file and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	overwrite(t, path, text)
	return path
}

// overwrite writes a file at a path.
func overwrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// answering starts a server and returns its URL.
func answering(t *testing.T, h http.HandlerFunc) (url string) {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// listen returns a listener at a free port.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func get(url string) error {
	client := http.Client{Timeout: time.Minute}
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
