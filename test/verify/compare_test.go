package verify

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"sluice/cmd/sluice/compare"
	"sluice/test/harness"
)

// TestSluiceServesWhatTheApiserverHas of built-in and custom resources, by every form of a name.
func TestSluiceServesWhatTheApiserverHas(t *testing.T) {
	t.Parallel()
	sluice := apiserver.StartSluice(t)
	names := []string{"cm", "clusterroles", "roles.rbac.authorization.k8s.io", "flowschemas.v1.flowcontrol.apiserver.k8s.io"}
	o := compare.Options{Sluice: sluice.RESTConfig("admin"), Apiserver: apiserver.RESTConfig("admin"), Patience: patience}
	v, err := compare.Run(t.Context(), o, names)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"configmaps.v1", "clusterroles.v1.rbac.authorization.k8s.io", "roles.v1.rbac.authorization.k8s.io", names[3]} {
		if r := v.Items[i]; r.Resource != want || !r.Equal() || r.Objects == 0 || r.AgeSeconds == nil {
			t.Errorf("%s: %+v", want, r)
		}
	}
}

// TestWhatCannotBeComparedIsAnError and not equal.
func TestWhatCannotBeComparedIsAnError(t *testing.T) {
	t.Parallel()
	sluice := apiserver.StartSluice(t)
	admin, direct := sluice.RESTConfig("admin"), apiserver.RESTConfig("admin")
	for name, tt := range map[string]struct {
		sluice, apiserver *rest.Config
		resource, want    string
	}{
		"no Sluice":         {direct, direct, "configmaps", "does not serve it"},
		"an excluded one":   {admin, direct, "secrets", "does not serve it"},
		"Sluice itself":     {admin, admin, "configmaps", "not the apiserver"},
		"no right":          {sluice.RESTConfig("nobody"), direct, "configmaps", "forbidden"},
		"no such resource":  {admin, direct, "unicorns", "unicorns"},
		"no list at Sluice": {serve(t, direct, nil, inHTML), direct, "configmaps", "list"},
		"another version":   {admin, serve(t, direct, newer, nil), "configmaps", "instead of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := compare.Options{Sluice: tt.sluice, Apiserver: tt.apiserver}
			v, err := compare.Run(t.Context(), o, []string{tt.resource})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v %v, want %q", v, err, tt.want)
			}
		})
	}
}

// TestVerifyExitsByWhatItFinds runs the program as docs/verifying.md does, and behind a proxy that hides, adds and changes
// objects: the program names each, and prints nothing of their contents.
func TestVerifyExitsByWhatItFinds(t *testing.T) {
	t.Parallel()
	sluice := apiserver.StartSluice(t)
	g := harness.NewGuide(t, "docs/verifying.md", "test/verify", kubeconfigOf(t, apiserver.RESTConfig("admin")), "SLUICE="+sluice.URL)
	g.Shell("cp " + filepath.Join(sluice.Dir, "ca.crt") + " .")
	if out := g.Run("compare"); strings.Count(out, ": equal at version ") != 2 {
		t.Errorf("the commands of the page print\n%s", out)
	}
	run := func(args ...string) (string, int) {
		program, err := harness.Binary("sluice")
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), program, append([]string{"verify", "configmaps", "--patience", "1s"}, args...)...)
		out, err := c.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return string(out), exit.ExitCode()
		}
		return string(out), 0
	}
	broken := kubeconfigOf(t, serve(t, sluice.RESTConfig("admin"), nil, wrong))
	if out, code := run("unicorns", "--kubeconfig", broken, "--against", apiserver.Kubeconfig("admin")); code != 2 ||
		!strings.Contains(out, `no resource "unicorns"`) || strings.Contains(out, "DIFFERENT") {
		t.Errorf("a resource that does not exist: exit %d\n%s", code, out)
	}
	out, code := run("secrets", "--kubeconfig", broken, "--against", apiserver.Kubeconfig("admin"))
	for _, line := range []string{"does not serve it", "DIFFERENT", "missing    default/c  version –, at", "extra      default/x ", "different  default/b "} {
		if code != 1 || !strings.Contains(out, line) {
			t.Errorf("exit %d, no %q\n%s", code, line, out)
		}
	}
	if strings.Contains(out, "canary") {
		t.Errorf("contents in %s", out)
	}
	for _, args := range [][]string{{"--kubeconfig", apiserver.Kubeconfig("admin")}, {"--nothing"}} {
		if out, code := run(args...); code != 2 {
			t.Errorf("%q: exit %d\n%s", args, code, out)
		}
	}
}

// kubeconfigOf writes a kubeconfig.
func kubeconfigOf(t *testing.T, cfg *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := harness.WriteKubeconfig(path, cfg); err != nil {
		t.Fatal(err)
	}
	return path
}
