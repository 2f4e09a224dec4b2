package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

func TestBundleIsWrittenOnlyIfItIsWanted(t *testing.T) {
	t.Chdir(t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/readyz":
			http.Error(w, "[-]upstream failed", http.StatusInternalServerError)
		case strings.HasPrefix(r.URL.Path, "/debug"):
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, "{}")
		}
	}))
	defer server.Close()
	for _, tt := range []struct {
		args  []string
		code  int
		files int
	}{
		{[]string{"-o", "a.tar.gz"}, exitUnknown, 0}, // there is no terminal to ask
		{[]string{"-o", "a.tar.gz", "--yes"}, 0, 1},
		{[]string{"-o", "a.tar.gz", "-y"}, exitUnknown, 1}, // it exists
		{[]string{"-y"}, 0, 2},
		{[]string{"-o", "-", "-y"}, 0, 2},
		{[]string{"-y", "-o", "b.tar.gz", "--log", "nowhere"}, exitUnknown, 2},
		{[]string{"-y", "-o", "b.tar.gz", "--address", "http://127.0.0.1:1"}, exitUnknown, 2},
		{[]string{"-y", "-o", "no/directory"}, exitUnknown, 2},
	} {
		_, code := execute(t, append([]string{"bundle", "--address", server.URL}, tt.args...)...)
		files, err := filepath.Glob("*.tar.gz")
		if err != nil || code != tt.code || len(files) != tt.files {
			t.Errorf("%q: exit %d, %d files, %v", tt.args, code, len(files), err)
		}
	}
	f := bundleFlags{}
	f.address, f.timeout = server.URL, time.Minute
	parts, err := f.collect(t.Context())
	list := string(contentsOf(parts))
	for _, want := range []string{"[-]upstream failed", "heap.pprof  ", "missing: 404", "2B"} {
		if err != nil || !strings.Contains(list+string(parts[1].text), want) {
			t.Errorf("no %q in\n%s%v", want, list, err)
		}
	}
	if info, err := os.Stat("a.tar.gz"); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestOnlyYesIsYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "n\n": false, "\n": false, "": false, "yesterday\n": false} {
		var out bytes.Buffer
		if got := confirm(strings.NewReader(answer), &out, "name"); got != want || !strings.Contains(out.String(), "name") {
			t.Errorf("%q: %v, asks %q", answer, got, &out)
		}
	}
}

// TestLogsAreCollectedWithoutRequests: only warnings and errors, the last ones.
func TestLogsAreCollectedWithoutRequests(t *testing.T) {
	log := `{"level":"info","logger":"access","msg":"request","user":"jane"}` + "\nno JSON jane\n"
	for i := range 2 * mostLines {
		log += fmt.Sprintf(`{"level":%q,"msg":"%d."}`+"\n", []string{"warn", "error"}[i%2], i)
	}
	text, err := warnings(strings.NewReader(log + `{"level":"info","user":"jane"}`))
	if err != nil || bytes.Count(text, []byte("\n")) != mostLines || !bytes.Contains(text, []byte(`"1000."`)) || bytes.Contains(text, []byte("jane")) {
		t.Errorf("%d lines, %v: %.200s", bytes.Count(text, []byte("\n")), err, text)
	}
}

// TestCollectedWarningsNameNoCallers: a request that fails at the upstream, and one that the apiserver refuses, have lines with
// paths, users and errors, and libraries log any text.
func TestCollectedWarningsNameNoCallers(t *testing.T) {
	const canary = "canary"
	var log bytes.Buffer
	logger := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(zapcore.AddSync(&log)), zap.DebugLevel))
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, Log: logger.Named("forward"), Handler: func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}})
	if resp := e.Get(t, "/api/v1/namespaces/canary/secrets/canary", nil); resp.StatusCode != http.StatusServiceUnavailable {
		t.Fatal(resp.Status)
	}
	logger.Warn("refused", zap.Int("code", 403), zap.String("user", canary), zap.String("resource", "pods"))
	logger.Error("interrupted", zap.Error(errors.New(canary)), zap.Any("reason", map[string]string{canary: ""}))
	logger.Named(kubernetesLogger).Named("x").Error(canary, zap.String("reason", canary))
	if !strings.Contains(log.String(), "/secrets/canary") {
		t.Fatalf("the path is not in the log: %s", &log)
	}
	text, err := warnings(&log)
	if err != nil || bytes.Contains(text, []byte(canary)) || bytes.Count(text, []byte("\n")) != 4 {
		t.Errorf("%v\n%s", err, text)
	}
	for _, want := range []string{`"logger":"forward","msg":"upstream request failed"`, `"msg":"refused","resource":"pods","code":403`} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestLogsThatAreNotJSONAreAnError(t *testing.T) {
	for log, want := range map[string]bool{
		"2026-01-02T03:04:05Z\twarn\tforward\tfailed\n": false, "{}\n": false, "": true, `{"level":"info"}`: true, "text\n{\"level\":\"warn\"}\n": true,
	} {
		if _, err := warnings(strings.NewReader(log)); (err == nil) != want {
			t.Errorf("%q: %v", log, err)
		}
	}
}
