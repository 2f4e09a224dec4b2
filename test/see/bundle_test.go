package see

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/test/harness"
)

// TestCommandsShowAndCollect runs the commands of docs/operating.md, and the examples of all commands. What the archive has
// tells nothing of objects, and no credentials: neither those of callers nor those of Sluice.
func TestCommandsShowAndCollect(t *testing.T) {
	apiserver := harness.Start(t)
	s := startAt(t, apiserver, "--profiling")
	g := harness.NewGuide(t, "docs/operating.md", "test/see", os.DevNull)
	if out := g.Run("wait", "sluice status", "sluice status --address "+s.Admin); !strings.Contains(out, "configmaps.v1") {
		t.Errorf("status --wait prints\n%s", out)
	}
	runExamples(t, s, apiserver.Kubeconfig("admin"))
	list := g.Run("bundle", "sluice bundle", "sluice bundle --address "+s.Admin)
	files := unpack(t, filepath.Join(g.Dir, "sluice.tar.gz"))
	token := s.RESTConfig("admin").BearerToken
	if token == "" {
		t.Fatal("the admin has no token")
	}
	for name, text := range files {
		if bytes.Contains(text, []byte(canary)) || bytes.Contains(text, []byte(token)) {
			t.Errorf("%s has the canary or a token", name)
		}
	}
	for name, want := range map[string]string{
		"status.json": "configmaps.v1", "readyz.txt": "[+]upstream ok", "config.json": "listen", "metrics.txt": "sluice_request_total",
		"clients.json": "ClientList", "watches.json": "OpenWatchList", "requests-served.json": "any-version", "requests-failed.json": "RequestList",
		"goroutines.txt": "goroutine profile", "heap.pprof": "", "version.txt": "sluice ", "MANIFEST.txt": "metrics.txt",
	} {
		if text, found := files[name]; !found || !strings.Contains(string(text), want) || !strings.Contains(list+"MANIFEST.txt", name) {
			t.Errorf("%s: %.200s\n%s", name, text, list)
		}
	}
}

// unpack returns the files of an archive by their names; a profile without its compression.
func unpack(t *testing.T, path string) map[string][]byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for archive := tar.NewReader(in); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		from := io.Reader(archive)
		if strings.HasSuffix(header.Name, ".pprof") {
			if from, err = gzip.NewReader(archive); err != nil {
				t.Fatal(err)
			}
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(header.Name)] = text
	}
}
