package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBundleIsWrittenOnlyIfItIsWanted(t *testing.T) {
	t.Chdir(t.TempDir())
	address := answering(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/readyz":
			http.Error(w, "[-]upstream failed", http.StatusInternalServerError)
		case strings.HasPrefix(r.URL.Path, "/debug"):
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, "{}")
		}
	})
	for _, tt := range []struct {
		args  []string
		code  int
		files int
	}{
		{[]string{"-o", "a.tar.gz"}, exitUnknown, 0}, // only lists
		{[]string{"-o", "a.tar.gz", "--yes"}, 0, 1},
		{[]string{"-o", "a.tar.gz", "-y"}, exitUnknown, 1}, // it exists
		{[]string{"-y"}, 0, 2},
		{[]string{"-o", "-", "-y"}, 0, 2},
		{[]string{"-y", "-o", "b.tar.gz", "--address", "http://127.0.0.1:1"}, exitUnknown, 2},
		{[]string{"-y", "-o", "no/directory"}, exitUnknown, 2},
	} {
		_, code := execute(t, append([]string{"bundle", "--address", address}, tt.args...)...)
		files, err := filepath.Glob("*.tar.gz")
		if err != nil || code != tt.code || len(files) != tt.files {
			t.Errorf("%q: exit %d, %d files, %v", tt.args, code, len(files), err)
		}
	}
	f := bundleFlags{}
	f.address, f.timeout = address, time.Minute
	parts, err := f.collect(t.Context())
	list := string(contentsOf(parts))
	for _, want := range []string{"[-]upstream failed", "heap.pprof  ", "missing: 404", "2 B"} {
		if err != nil || !strings.Contains(list+string(parts[1].text), want) {
			t.Errorf("no %q in\n%s%v", want, list, err)
		}
	}
	if info, err := os.Stat("a.tar.gz"); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}
