package see

import (
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
	s := start(t, apiserver, "--profiling")
	g := harness.NewGuide(t, "docs/operating.md", "test/see", os.DevNull)
	if out := g.Run("wait", "sluice status", "sluice status --address "+s.Admin); !strings.Contains(out, "configmaps.v1") {
		t.Errorf("status --wait prints\n%s", out)
	}
	runExamples(t, s, apiserver.Kubeconfig("admin"))
	list := g.Run("bundle", "sluice bundle", "sluice bundle --address "+s.Admin)
	g.Shell("mkdir unpacked; tar -xzf sluice.tar.gz --strip-components=1 -C unpacked; gunzip <unpacked/heap.pprof >unpacked/heap")
	token := s.RESTConfig("admin").BearerToken
	if token == "" {
		t.Fatal("the admin has no token")
	}
	if found := g.Shell("grep -rlF -e " + canary + " -e '" + token + "' unpacked || test $? = 1"); found != "" {
		t.Errorf("the canary or a token is in %s", found)
	}
	for name, want := range map[string]string{
		"status.json": "configmaps.v1", "readyz.txt": "[+]upstream ok", "config.json": "listen", "metrics.txt": "sluice_request_total",
		"clients.json": "ClientList", "watches.json": "OpenWatchList", "requests-served.json": "any-version", "requests-failed.json": "RequestList",
		"goroutines.txt": "goroutine profile", "heap.pprof": "", "version.txt": "sluice ", "MANIFEST.txt": "metrics.txt",
	} {
		text, err := os.ReadFile(filepath.Join(g.Dir, "unpacked", name))
		if err != nil || !strings.Contains(string(text), want) || !strings.Contains(list+"MANIFEST.txt", name) {
			t.Errorf("%s: %v, %.200s\n%s", name, err, text, list)
		}
	}
}
