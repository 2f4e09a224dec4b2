package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
