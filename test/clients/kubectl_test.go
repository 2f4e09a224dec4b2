package clients

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"sluice/test/harness"
)

// kubectl runs bin/kubectl and returns its output; the test ends if it fails.
func kubectl(t *testing.T, kubeconfig, stdin string, args ...string) string {
	t.Helper()
	out, err := kubectlFor(t.Context(), t, kubeconfig, stdin, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func kubectlFor(ctx context.Context, t *testing.T, kubeconfig, stdin string, args ...string) *exec.Cmd {
	t.Helper()
	args = append([]string{"--kubeconfig=" + kubeconfig, "--cache-dir=" + t.TempDir()}, args...)
	cmd := exec.CommandContext(ctx, harness.Program(t, "kubectl"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	return cmd
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`

func TestKubectlCommandsWork(t *testing.T) {
	namespace := apiserver.Namespace(t)
	config := sluice.Kubeconfig(t, "admin")
	steps := []struct {
		name  string
		stdin string
		args  []string
		want  string // part of the output
	}{
		{"version", "", []string{"version"}, "Server Version: v1.37.2"},
		{"apply", deployment, []string{"apply", "-f", "-"}, "deployment.apps/web created"},
		{"apply again", deployment, []string{"apply", "-f", "-"}, "deployment.apps/web unchanged"},
		{
			"server-side apply", strings.Replace(deployment, "replicas: 2", "replicas: 3", 1),
			[]string{"apply", "--server-side", "--force-conflicts", "-f", "-"}, "serverside-applied",
		},
		{"dry run", deployment, []string{"apply", "--dry-run=server", "-f", "-"}, "(server dry run)"},
		{"get", "", []string{"get", "deployments"}, "web    0/3"},
		{"get wide", "", []string{"get", "deployments", "-o", "wide"}, "nginx"},
		{"get yaml", "", []string{"get", "deployment", "web", "-o", "yaml"}, "replicas: 3"},
		{"get by label", "", []string{"get", "all", "-l", "app=web"}, "deployment.apps/web"},
		{"get pages", "", []string{"get", "deployments", "-A", "--chunk-size=1", "-o", "name"}, "deployment.apps/web"},
		{"describe", "", []string{"describe", "deployment", "web"}, "3 desired"},
		{"label", "", []string{"label", "deployment", "web", "tier=front"}, "labeled"},
		{"annotate", "", []string{"annotate", "deployment", "web", "note=hello"}, "annotated"},
		{"scale", "", []string{"scale", "deployment", "web", "--replicas=1"}, "scaled"},
		{"merge patch", "", []string{"patch", "deployment", "web", "--type=merge", "-p", `{"spec":{"paused":true}}`}, "patched"},
		{"JSON patch", "", []string{"patch", "deployment", "web", "--type=json", "-p", `[{"op":"remove","path":"/spec/paused"}]`}, "patched"},
		{
			"strategic patch", "",
			[]string{"patch", "deployment", "web", "-p", `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:2"}]}}}}`}, "patched",
		},
		{"set image", "", []string{"set", "image", "deployment/web", "web=nginx:3"}, "image updated"},
		{"create", "", []string{"create", "configmap", "c", "--from-literal=a=b"}, "configmap/c created"},
		{"wait", "", []string{"wait", "--for=jsonpath={.data.a}=b", "configmap/c", "--timeout=3m"}, "condition met"},
		{"api-resources", "", []string{"api-resources", "--api-group=apps"}, "deployments"},
		{"explain", "", []string{"explain", "deployment.spec.replicas"}, "<integer>"},
		{"auth can-i", "", []string{"auth", "can-i", "list", "pods"}, "yes"},
		{"auth whoami", "", []string{"auth", "whoami"}, "admin"},
		{"raw", "", []string{"get", "--raw", "/livez"}, "ok"},
		{"delete", "", []string{"delete", "deployment", "web", "--timeout=3m"}, "deleted"},
		{"delete all", "", []string{"delete", "configmap", "c", "--wait"}, "deleted"},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			if out := kubectl(t, config, s.stdin, append([]string{"-n", namespace}, s.args...)...); !strings.Contains(out, s.want) {
				t.Errorf("%q is not in:\n%s", s.want, out)
			}
		})
	}
}
