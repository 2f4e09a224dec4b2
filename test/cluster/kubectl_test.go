package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"sluice/test/harness"
)

// kubectl runs bin/kubectl with a kubeconfig.
type kubectl struct {
	t    *testing.T
	args []string // before those of each call
}

func newKubectl(t *testing.T, kubeconfig string, args ...string) kubectl {
	return kubectl{t: t, args: append([]string{"--kubeconfig=" + kubeconfig}, args...)}
}

func (k kubectl) command(args ...string) *exec.Cmd {
	k.t.Helper()
	return exec.CommandContext(k.t.Context(), harness.Program(k.t, "kubectl"), append(k.args, args...)...)
}

// run returns the output of a call that must succeed.
func (k kubectl) run(args ...string) string {
	k.t.Helper()
	var stderr bytes.Buffer
	cmd := k.command(args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		k.t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out)
}

// clusterIP returns the address of a Service.
func (k kubectl) clusterIP(namespace, service string) string {
	k.t.Helper()
	return k.run("get", "service/"+service, "--namespace="+namespace, "--output=jsonpath={.spec.clusterIP}")
}

// kubectl's commands for containers work through Sluice; streamsReachContainers has those that upgrade a connection.
func (n *Node) kubectlReachesContainers(t *testing.T, sluice *harness.Sluice, namespace string) {
	k := newKubectl(t, sluice.Kubeconfig(t, "admin"), "--namespace="+namespace)
	t.Run("logs", func(t *testing.T) { n.checkLogs(t, k, namespace) })
	t.Run("proxy", func(t *testing.T) {
		if out := k.run("get", "--raw", "/api/v1/namespaces/"+namespace+"/pods/web:8080/proxy/healthz"); out != "ok\n" {
			t.Errorf("the pod answers %q through the proxy subresource", out)
		}
	})
}

// checkLogs reads the complete log of a pod that has ended, and follows one until its pod ends. The
// first must be what the apiserver returns: a runtime may lose the last lines of a container that
// exits right after them.
func (n *Node) checkLogs(t *testing.T, k kubectl, namespace string) {
	pod := clientPod("lines", "lines", "50000")
	pod.Spec.RestartPolicy = "Never"
	n.createPod(t, namespace, pod)
	k.run("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/lines", "--timeout=60s")
	direct := newKubectl(t, n.Kubeconfig("admin"), "--namespace="+namespace)
	for _, args := range [][]string{{"logs", "lines"}, {"logs", "lines", "--tail=2"}} {
		var want, got string
		harness.Eventually(t, "the log stands still", func() error {
			want, got = direct.run(args...), k.run(args...)
			if direct.run(args...) != want {
				return errors.New("it is still being written")
			}
			return nil
		})
		if got != want || len(want) == 0 {
			t.Errorf("%q: %d bytes, of %d of the apiserver", args, len(got), len(want))
		}
	}
	if lines := strings.Count(k.run("logs", "lines"), "\n"); lines < 40000 {
		t.Errorf("the log has %d lines of 50000", lines)
	}

	talker := clientPod("talker", "cat")
	talker.Spec.Containers[0].Stdin = true
	n.createPod(t, namespace, talker)
	n.waitPodsReady(t, namespace, "app=talker", 1)
	follow := k.command("logs", "--follow", "talker")
	out, err := follow.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	attach := k.command("attach", "--stdin", "--quiet", "talker")
	in, err := attach.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := attach.Start(); err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"first\n", "second\n"} {
		if _, err := in.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != said {
			t.Fatalf("logs --follow printed %q after %q: %v", line, said, err)
		}
	}
	k.run("delete", "pod", "talker", "--wait=false")
	if err := follow.Wait(); err != nil {
		t.Errorf("logs --follow of a pod that is deleted: %v", err)
	}
	in.Close()
	_ = attach.Wait() // its connection ends with the container
}
