package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sluice/config"
	"sluice/test/harness"
)

const configHead = "apiVersion: sluice/v1alpha1\nkind: Configuration\n"

// reloading is a reloader of a file, with what it has applied and logged.
type reloading struct {
	*testing.T
	*reloader
	applied []*config.File
	logs    *observer.ObservedLogs
}

func newReloading(t *testing.T, path string) *reloading {
	core, logs := observer.New(zap.InfoLevel)
	r := &reloading{T: t, logs: logs}
	var f flags
	r.reloader = newReloader(path, func() (*config.File, error) { f.config = path; return f.file(serveCommand().Flags()) })
	t.Cleanup(func() { signal.Stop(r.hangup) })
	r.log, r.metrics = zap.New(core), newReloadMetrics(prometheus.NewRegistry())
	r.apply = func(file *config.File) { r.applied = append(r.applied, file) }
	file, err := r.load()
	if err != nil {
		t.Fatal(err)
	}
	r.running.Store(file)
	return r
}

// after checks the result of one reload of a text, how often one was applied, and what was logged.
func (r *reloading) after(text, result string, applied int, logged string) {
	r.Helper()
	overwrite(r.T, r.path, text)
	before := testutil.ToFloat64(r.metrics.total.WithLabelValues(result))
	for range 4 { // a file is tried once
		r.poll()
	}
	if n := testutil.ToFloat64(r.metrics.total.WithLabelValues(result)) - before; n != 1 {
		r.Errorf("%s: %v reloads with result %s, want one", text, n, result)
	}
	successful := 0.0
	if result == reloadSucceeded {
		successful = 1
	}
	if got := testutil.ToFloat64(r.metrics.successful); got != successful {
		r.Errorf("%s: sluice_config_last_reload_successful is %v", text, got)
	}
	lines := r.logs.TakeAll()
	if len(r.applied) != applied || len(lines) != 1 || !strings.Contains(fmt.Sprint(lines[0].Message, lines[0].ContextMap()), logged) {
		r.Errorf("%s: applied %d times, want %d; logged %v, want %q", text, len(r.applied), applied, lines, logged)
	}
}

func TestReloadAppliesAFileAsAWholeOrNotAtAll(t *testing.T) {
	r := newReloading(t, writeFile(t, "sluice.yaml", configHead))
	r.poll()
	if lines := r.logs.TakeAll(); len(lines) > 0 {
		t.Errorf("an unchanged file: %v", lines)
	}
	r.after(configHead+"log: {level: debug}\n", reloadSucceeded, 1, "log.level")
	r.after(configHead+"log: {level: loud}\n", reloadInvalid, 1, "sluice.yaml:3:14: log.level")
	r.after(configHead+"log: {level: warn}\nlisten: 127.0.0.1:1\n", reloadRefused, 1, "listen")
	if got := r.running.Load().Log.Level; got != "debug" {
		t.Errorf("runs by log level %s", got)
	}
	r.after(configHead+"log: {level: warn}\n", reloadSucceeded, 2, "log.level")
	r.after(configHead+"log: {level: warn} # a comment\n", reloadSucceeded, 3, "configuration reloaded")
	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	r.poll()
	r.poll()
	if lines := r.logs.TakeAll(); len(lines) != 1 {
		t.Errorf("a missing file is reported as %v", lines)
	}
}

// Whoever gives a field the tag reload must make components.reload apply it, and add it here.
func TestReloadableFieldsAreApplied(t *testing.T) {
	old, changed := &config.File{}, &config.File{}
	old.Default()
	changed.Default()
	l := &changed.Limits
	for _, n := range []*int{&l.Seats} {
		*n++
	}
	changed.Authorization.AllowTTL.Duration++
	changed.Authorization.StaleFor.Duration++
	changed.Authorization.DenyTTL.Duration++
	changed.Authorization.WatchRecheck.Duration++
	some := &changed.Authorization.AllowedNamespaces
	some.Users, some.Groups, some.UserAgents = []string{"a"}, []string{"b"}, []string{"c"}
	changed.Authentication.TokenTTL.Duration++
	changed.Cache.Proofs.CorePercent++
	changed.Cache.Proofs.BytesPerSecond++
	changed.Compression.Watches = true
	*changed.Cache.EncodedBytes++
	changed.Log.Level, changed.DebugHeaders = "debug", true
	reload, restart := config.Changes(old, changed)
	want := []string{"authentication.tokenTTL", "authorization.allowTTL", "authorization.denyTTL", "authorization.staleFor", "authorization.watchRecheck",
		"authorization.allowedNamespaces.users", "authorization.allowedNamespaces.groups", "authorization.allowedNamespaces.userAgents", "cache.encodedBytes",
		"cache.proofs.corePercent", "cache.proofs.bytesPerSecond", "limits.seats", "log.level", "compression.watches", "debugHeaders"}
	if !slices.Equal(reload, want) || len(restart) > 0 {
		t.Errorf("reloaded %q\nothers %q", reload, restart)
	}
	defaults, err := output(t, "config", "defaults")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(strings.ReplaceAll(defaults, "\n", " "), "(reloaded)"); n > len(want) || n < len(want)-4 { // fields in a row share a comment
		t.Errorf("%d fields are documented as reloaded, not %d", n, len(want))
	}
}

// SIGHUP makes a running gateway use the new file.
func TestServeReloadsOnSIGHUP(t *testing.T) {
	apiserver := harness.Start(t)
	path := writeFile(t, "sluice.yaml", configHead)
	s := startServe(t, "--config="+path, "--kubeconfig="+apiserver.Kubeconfig("sluice"), "--cert-dir="+t.TempDir(), "--log-level=error")
	harness.Eventually(t, "ready", func() error { return get(s.admin + "/readyz") })
	overwrite(t, path, configHead+"debugHeaders: true\n")
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the new file is used", func() error {
		resp, err := http.Get(s.admin + "/configz")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		var running config.File
		if err := json.Unmarshal(text, &running); err != nil {
			return err
		}
		if !running.DebugHeaders || running.Log.Level != "error" || running.Listen != "127.0.0.1:0" {
			return fmt.Errorf("runs by %s", text)
		}
		return nil
	})
	cfg := apiserver.RESTConfig("admin")
	cfg.Host, cfg.TLSClientConfig.CAData, cfg.TLSClientConfig.CAFile, cfg.TLSClientConfig.Insecure = s.api, nil, "", true
	raw, err := harness.NewRawClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	resp, err := raw.Get(t.Context(), "/version", "application/json")
	if err != nil || resp.Header.Get("Sluice-Source") == "" {
		t.Errorf("%v, %v", resp, err)
	}
	s.stop()
	s.wait(t)
}
