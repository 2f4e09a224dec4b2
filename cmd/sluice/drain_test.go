package main

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"sluice/config"
	"sluice/test/support/proxytest"
)

// newTestComponents builds the components for an apiserver that cannot be reached.
func newTestComponents(t *testing.T, delay time.Duration) *components {
	t.Helper()
	return buildComponents(t, delay, newMetrics())
}

func buildComponents(t *testing.T, delay time.Duration, metrics *metrics) *components {
	t.Helper()
	file := &config.File{}
	file.Upstream.Kubeconfig = kubeconfigFor(t, "http://127.0.0.1:1", "")
	file.TLS.CertDir = t.TempDir()
	file.Shutdown.Delay.Duration = delay
	file.Default()
	c, err := build(file, zap.NewNop(), metrics)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReadinessFailsDuringShutdownDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 10 * time.Second
		c := newTestComponents(t, delay)
		defer c.upstream.Close()
		api, admin := proxytest.NewListener(), proxytest.NewListener()
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- c.run(ctx, api, admin, nil) }()
		transport := &http.Transport{DialContext: admin.Dial}
		defer transport.CloseIdleConnections()
		shutdown := func() string {
			resp, err := (&http.Client{Transport: transport}).Get("http://localhost/readyz/shutdown")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			return string(body)
		}
		synctest.Wait()
		if got := shutdown(); got != "ok" {
			t.Errorf("before the shutdown: %s", got)
		}
		cancel()
		time.Sleep(delay - time.Second)
		if got := shutdown(); got != "[-]shutdown failed: process is shutting down\nreadyz check failed\n" {
			t.Errorf("during the delay: %s", got)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
