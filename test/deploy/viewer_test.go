package deploy

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// TestViewerSeesTheStatusPagesAndNothingElse has a real apiserver review who reads the admin listener.
func TestViewerSeesTheStatusPagesAndNothingElse(t *testing.T) {
	t.Parallel()
	role := typed[rbacv1.ClusterRole](t, objects(t, kustomized(t, "deploy/kustomize/base"))["ClusterRole/sluice-viewer"])
	flags := []string{"--admin-listen=0.0.0.0:0", "--profiling=false"}
	gateway := plane.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Flags: flags})
	nobody := reader(t, gateway, gateway.RESTConfig("nobody"))
	pages := map[string]int{
		"/": http.StatusOK, "/limits": http.StatusOK, "/clients": http.StatusOK, "/watches": http.StatusOK, "/why": http.StatusOK,
		"/see/v1alpha1/status": http.StatusOK, "/see/v1alpha1/why": http.StatusOK,
		"/see/style.css": http.StatusOK, "/r/none": http.StatusNotFound,
	}
	others := []string{"/metrics", "/configz", "/api/v1/pods", "/debug/pprof/"}
	const denied = http.StatusForbidden
	for page := range pages {
		nobody.MustOpen(t, harness.Request{Path: page}, denied)
	}
	plane.Grant(t, "", harness.User("nobody"), role.Rules...)
	for page, want := range pages {
		nobody.AwaitStatus(t, want, harness.Request{Path: page})
	}
	if page := throughProxy(t, gateway); !strings.Contains(page, "<title>overview – Sluice: ") {
		t.Errorf("a browser behind kubectl proxy sees %.200s", page)
	}
	for _, page := range others {
		nobody.MustOpen(t, harness.Request{Path: page}, denied, http.StatusNotFound)
	}
}

// throughProxy returns the first page as a browser has it, which has no credentials: kubectl proxy adds those of nobody.
func throughProxy(t *testing.T, s *harness.Sluice) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, harness.Program(t, "kubectl"), "proxy", "--port=0", "--kubeconfig="+plane.Kubeconfig("nobody"), "--server="+local(s),
		"--certificate-authority="+filepath.Join(s.Dir, "ca.crt"))
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); _ = c.Wait() }() // it was killed
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://" + strings.TrimSpace(strings.TrimPrefix(line, "Starting to serve on ")) + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// local returns the URL of an admin listener on all addresses.
func local(s *harness.Sluice) string { return strings.Replace(s.Admin, "[::]", "127.0.0.1", 1) }

// reader returns a client of the admin listener.
func reader(t *testing.T, s *harness.Sluice, cfg *rest.Config) *harness.RawClient {
	t.Helper()
	cfg.Host = local(s)
	return harness.RawClientFor(t, cfg)
}

func TestViewerHasTheDocumentedRules(t *testing.T) {
	role := typed[rbacv1.ClusterRole](t, objects(t, kustomized(t, "deploy/kustomize/base"))["ClusterRole/sluice-viewer"])
	want := "    - nonResourceURLs: [" + strings.Join(role.Rules[0].NonResourceURLs, ", ") + "]\n      verbs: [get]\n"
	if !strings.Contains(harness.Read(t, "docs/operating.md"), want) {
		t.Errorf("docs/operating.md lacks\n%s", want)
	}
}

// TestTokenOfTheServiceMonitorReadsMetricsAndNothingElse has a real apiserver review a token of its service account.
func TestTokenOfTheServiceMonitorReadsMetricsAndNothingElse(t *testing.T) {
	t.Parallel()
	gateway := plane.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Flags: []string{"--admin-listen=0.0.0.0:0", "--profiling=false"}})
	admin := plane.Kubeconfig("admin")
	all := objects(t, charted(t, "components"))
	apply(t, admin, program(t, "kubectl", "create", "namespace", "sluice", "--dry-run=client", "-o", "yaml"))
	for _, kind := range []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding"} {
		object, err := all[kind+"/sluice-metrics"].MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		apply(t, admin, object)
	}
	token, err := kubectl(t, admin, nil, "create", "token", "sluice-metrics", "--namespace=sluice")
	if err != nil {
		t.Fatal(token)
	}
	cfg := rest.AnonymousClientConfig(gateway.RESTConfig("nobody"))
	cfg.BearerToken = strings.TrimSpace(token)
	for page, want := range map[string]int{"/metrics": http.StatusOK, "/configz": http.StatusForbidden, "/": http.StatusForbidden} {
		reader(t, gateway, cfg).AwaitStatus(t, want, harness.Request{Path: page})
	}
}
