package security

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/test/harness"
)

// Caches of others kept secrets on disk (YurtHub, SuperEdge, KubeEdge) and in plain columns (Rancher Steve).
// With cache.secrets set, what secrets contain, and tokens of callers, are in answers and nowhere else: not in
// logs, metrics, profiles, the audit log, files, or the stacks of all goroutines of a process that crashes.
func TestContentsOfSecretsAreInAnswersOnly(t *testing.T) {
	dir := t.TempDir()
	s := plane.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Dir: dir, Flags: []string{"--log-level=debug"}, Config: fmt.Sprintf(`
apiVersion: sluice/v1alpha1
kind: Configuration
cache: {secrets: true}
audit: {path: %s}
`, filepath.Join(dir, "audit.log"))})
	ns := plane.Namespace(t)
	const marker = "do-not-show-this-to-anybody"
	path := "/api/v1/namespaces/" + ns + "/secrets"
	write(t, http.MethodPost, path, fmt.Sprintf(`{"metadata":{"name":"s","annotations":{"note":%[1]q}},"stringData":{"key":%[1]q}}`, marker))
	s.WaitForCacheSync(t, "/api/v1/secrets", "secrets.v1")
	admin, wrong := s.Raw("admin"), "wrong-token-that-nobody-has"
	for _, accept := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor", "application/json;as=Table;v=v1;g=meta.k8s.io"} {
		for _, target := range []string{path + "?resourceVersion=0", path + "/s?resourceVersion=0", path + "/s", path + "?watch=1&resourceVersion=0&timeoutSeconds=1", path + "?fieldSelector=x%3D" + "bad"} {
			resp := do(t, admin, harness.Request{Path: target, Header: http.Header{"Accept": {accept}}})
			if source := resp.Header.Get("Sluice-Source"); strings.HasSuffix(target, "secrets?resourceVersion=0") && !strings.HasPrefix(source, "cache") {
				t.Errorf("%s of %s is from %q", accept, target, source)
			}
		}
	}
	do(t, s.Raw(harness.Anonymous), harness.Request{Path: path, Header: withToken(wrong)})
	open, err := admin.Open(t.Context(), harness.Request{Path: path + "?watch=1&resourceVersion=0"}) // while the process crashes
	if err != nil {
		t.Fatal(err)
	}
	defer open.Body.Close()
	pages := map[string]string{}
	for _, page := range []string{
		"/metrics", "/readyz?verbose", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/debug/pprof/heap", "/debug/pprof/allocs?debug=1", "/debug/pprof/cmdline",
	} {
		text, err := s.AdminGet(page)
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		pages[page] = text
	}
	if err := syscall.Kill(s.PID(), syscall.SIGQUIT); err != nil { // Go writes all stacks
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	case <-time.After(3 * time.Minute):
		t.Fatal("the process has not ended")
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		text, failed := os.ReadFile(filepath.Join(dir, e.Name()))
		pages[e.Name()], err = string(text), errors.Join(err, failed)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(pages["sluice.log"], "goroutine 1 ") || !strings.Contains(pages["audit.log"], "secrets") {
		t.Error("the stacks or the audit events are missing: the test looks at nothing")
	}
	token := plane.RESTConfig("admin").BearerToken
	for name, text := range pages {
		for what, hidden := range map[string]string{
			"contents": marker, "encoded contents": base64.StdEncoding.EncodeToString([]byte(marker)), "a token": token, "a wrong token": wrong,
		} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s shows %s", name, what)
			}
		}
	}
}
