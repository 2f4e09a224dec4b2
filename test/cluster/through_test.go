package cluster

import (
	"fmt"
	"net/http"
	"testing"

	"sluice/test/harness"
)

// The kubelet, the scheduler and the kube-proxy run pods and Services when all they know is Sluice, in this
// step and in all that follow, and kubectl rolls a Deployment out, scales and deletes it. A restart of Sluice in the middle of a
// rollout delays it, and no program ends: the scheduler keeps its lease.
func (n *Node) nodeWorksThroughSluice(t *testing.T, sluice *harness.Sluice) {
	n.stopPrograms(t)
	n.startPrograms(t, sluice.Kubeconfig(t, "admin"))
	namespace := n.Namespace(t)
	k := newKubectl(t, sluice.Kubeconfig(t, "admin"), "--namespace="+namespace)
	k.run("create", "deployment", "web", "--image="+clientImage, "--replicas=2", "--port=8080")
	address := k.expose(namespace, "web")
	k.run("rollout", "status", "deployment/web", "--timeout=60s")
	n.waitServed(t, address)

	sluice.Restart(t)
	k.run("set", "env", "deployment/web", "GENERATION=2")
	sluice.Restart(t)
	k.run("rollout", "status", "deployment/web", "--timeout=60s")
	k.run("scale", "deployment/web", "--replicas=3")
	n.waitPodsReady(t, namespace, "app=web", 3)
	n.waitServed(t, address)
	k.run("delete", "deployment/web", "--cascade=foreground", "--timeout=60s")
	n.waitPodsReady(t, namespace, "app=web", 0)
	if err := n.alive(); err != nil {
		t.Error(err)
	}
}

// The watches that the node's programs opened again after the restart, when stores were still filling, have
// come back to the cache, and no program has ended.
func (n *Node) watchesComeFromTheCache(t *testing.T, sluice *harness.Sluice) {
	harness.Eventually(t, "95 % of the watches of the node's programs are served from the cache", func() error {
		metrics, err := sluice.Metrics()
		if err != nil {
			return err
		}
		cached, all := metrics.Sum("sluice_watchers"), metrics.Sum("sluice_current_inflight_requests", "request_kind=longRunning")
		if cached < 0.95*all {
			return fmt.Errorf("%v of %v are", cached, all)
		}
		return n.alive()
	})
}

// expose makes a Service of a Deployment, and returns its URL.
func (k kubectl) expose(namespace, deployment string) string {
	k.t.Helper()
	k.run("expose", "deployment/"+deployment, "--port=80", "--target-port=8080")
	return "http://" + k.clusterIP(namespace, deployment)
}

// waitServed waits until a Service answers.
func (n *Node) waitServed(t *testing.T, address string) {
	t.Helper()
	harness.Eventually(t, "the Service answers", func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/healthz", nil)
		if err != nil {
			return err
		}
		request.Close = true // each request chooses a pod
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers with %s", response.Status)
		}
		return nil
	})
}
