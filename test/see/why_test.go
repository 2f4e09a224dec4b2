package see

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"sluice/test/harness"
)

const configMaps = "/api/v1/configmaps?"

// startWhy returns a gateway as it is installed, without debug headers and whose admin listener authorizes readers, in front of
// three objects.
func startWhy(t *testing.T) *harness.Sluice {
	t.Helper()
	c := harness.Start(t)
	s := c.StartSluice(t, harness.SluiceOptions{
		Binary: "sluice", Flags: []string{"--debug-headers=false"}, Config: "apiVersion: sluice/v1alpha1\nkind: Configuration\nadmin: {access: authorized}\n",
	})
	for i := range 3 {
		c.MustCreate(t, inDefault+"configmaps", fmt.Sprintf(`{"metadata":{"name":"m%d"}}`, i))
	}
	harness.Eventually(t, "configmaps are served", func() error {
		if source := sourceOf(t, s, "admin", configMaps+"resourceVersion=0", nil); source != "cache; any-version" {
			return errors.New(source)
		}
		return nil
	})
	return s
}

// sourceOf makes a request that asks for its source, and wants a status as MustOpen does.
func sourceOf(t *testing.T, s *harness.Sluice, user, path string, header http.Header, want ...int) string {
	t.Helper()
	asked := http.Header{"Sluice-Source": {"?1"}}
	maps.Copy(asked, header)
	return s.Raw(user).MustOpen(t, harness.Request{Path: path, Header: asked}, want...).Header.Get("Sluice-Source")
}

// TestWhyTellsWhatHappened runs the command with the kubeconfigs of users, and nothing but these.
func TestWhyTellsWhatHappened(t *testing.T) {
	s := startWhy(t)
	for _, row := range []struct {
		user, args string
		code       int
		says       string
	}{
		{"admin", configMaps + "resourceVersion=0", 0, "SERVED any-version: the request accepts any version, and the cache had one; the answer is 200 OK"},
		{"admin", "https://elsewhere:1" + configMaps + "watch=1&resourceVersion=0&timeoutSeconds=60", 0, "SERVED any-version"},
		{"admin", inDefault + "configmaps/missing?resourceVersion=0", 0, "SERVED any-version: the request accepts any version, and the cache had one; the answer is 404 Not Found: "},
		{"admin", inDefault + "configmaps/m1", 1, "PASSED get-latest"},
		{"admin", configMaps + "limit=x", 1, "PASSED options"},
		{"admin", "/version", 1, "PASSED not-a-read"},
		{"admin", "/api/v1/secrets?resourceVersion=0", 1, "PASSED excluded: the configuration keeps this resource out of the cache; the answer is 200 OK\nDo: set cache.secrets for secrets"},
		{"admin", configMaps + "watch=1&resourceVersion=999999999&timeoutSeconds=1", 0, "SERVED later-version: the watch begins at a version that this cluster has not"},
		{"admin", configMaps + "resourceVersion=0 -H Accept:text/html", 1, "PASSED format"},
		{"admin", configMaps + "resourceVersionMatch=Exact&resourceVersion=1", 1, "PASSED version-before-history"},
		{"admin", configMaps + "labelSelector=a&labelSelector=b", 1, "REFUSED the answer is 400 Bad Request: Sluice: "},
		{"admin", configMaps + "resourceVersion=0 -H Impersonate-User:nobody", 1, "REFUSED the answer is 403 Forbidden: configmaps is forbidden"},
		{"nobody", configMaps + "resourceVersion=0", 1, "REFUSED the answer is 403 Forbidden: configmaps is forbidden"},
	} {
		c := exec.CommandContext(t.Context(), harness.Program(t, "sluice"), append([]string{"why", "--kubeconfig=" + s.Kubeconfig(t, row.user)}, strings.Fields(row.args)...)...)
		out, _ := c.Output() // its exit code tells
		if code := c.ProcessState.ExitCode(); code != row.code || !strings.HasPrefix(string(out), row.says) {
			t.Errorf("%s: why %s: exit code %d, want %d and %q\n%s", row.user, row.args, code, row.code, row.says, out)
		}
	}
}

// TestTheSourceTellsNothingOfWhatACallerMayNotRead: not whether a resource is excluded, cached or there.
func TestTheSourceTellsNothingOfWhatACallerMayNotRead(t *testing.T) {
	s := startWhy(t)
	for _, path := range []string{
		configMaps + "resourceVersion=0", "/api/v1/secrets?resourceVersion=0", inDefault + "configmaps/m1", "/api/v1/nodes",
		configMaps + "watch=1", configMaps + "limit=x", "/apis/none/v1/nothing", inDefault + "configmaps/missing?resourceVersion=0",
	} {
		for name, header := range map[string]http.Header{
			"nobody": nil, "a stranger": {"Authorization": {"Bearer x"}}, "an impersonated one": {"Impersonate-User": {"nobody"}},
		} {
			user := map[bool]string{true: "admin", false: "nobody"}[header != nil]
			if source := sourceOf(t, s, user, path, header, http.StatusUnauthorized, http.StatusForbidden); source != "" {
				t.Errorf("%s learns %q from %s", name, source, path)
			}
		}
	}
}

// TestWhyAnswersInTheBrowser filters the last requests by the form, with and without JavaScript.
func TestWhyAnswersInTheBrowser(t *testing.T) {
	s := start(t, harness.Start(t))
	b := openBrowser(t)
	for _, row := range []struct {
		width   int
		scheme  string
		scripts bool
	}{{1920, "light", true}, {360, "dark", false}, {768, "light", false}} {
		name := fmt.Sprintf("why-%d-%s", row.width, row.scheme)
		b.screen(t, row.width, row.scheme)
		b.call(t, "Emulation.setScriptExecutionDisabled", map[string]any{"value": !row.scripts}, nil)
		b.open(t, s.Admin+"/why?show=served")
		b.evaluate(t, `document.querySelector("input[name=user]").value = "admin"; document.querySelector("input[name=verb]").value = "list"; "done"`)
		b.loading(t, func() { b.evaluate(t, `document.querySelector("form").submit(); "done"`) })
		if row := b.evaluate(t, `document.querySelector("tbody tr").innerText`); !strings.Contains(row, "LIST configmaps.v1") || !strings.Contains(row, "the cache") {
			t.Errorf("%s: the first row is %q", name, row)
		}
		b.checkLooks(t, name)
	}
}

// key presses a key.
func (b *browser) key(t *testing.T, name string, code int, text string) {
	t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call(t, "Input.dispatchKeyEvent", map[string]any{"type": kind, "key": name, "text": text, "windowsVirtualKeyCode": code}, nil)
	}
}
