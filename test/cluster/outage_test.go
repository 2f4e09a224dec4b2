package cluster

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
	"sluice/test/outage"
)

// routedIP is an address of the apiserver that only Sluice uses, so that the route to it can be dropped.
const routedIP = "192.168.77.3"

// routed returns the configuration by which Sluice reaches the apiserver at routedIP.
func (n *Node) routed(t *testing.T) *rest.Config {
	t.Helper()
	args := "-w -t nat -I OUTPUT -p tcp -d " + routedIP + " -j DNAT --to-destination " + nodeIP
	if out, err := exec.CommandContext(t.Context(), "iptables", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("iptables: %v: %s", err, out)
	}
	c := n.RESTConfig("sluice")
	c.Host = strings.Replace(c.Host, nodeIP, routedIP, 1)
	c.TLSClientConfig.ServerName = nodeIP
	return c
}

// While the apiserver is away from Sluice, the pods of a node that knows only Sluice go on, and after it the node is ready. OUTAGE
// is how long each outage lasts; by default until each promise was seen once.
func (n *Node) nodeOutlivesOutages(t *testing.T, sluice *harness.Sluice) {
	o := outage.Outage{Plane: n.ControlPlane, Sluice: sluice}
	if lasts := os.Getenv("OUTAGE"); lasts != "" {
		var err error
		if o.Lasts, err = time.ParseDuration(lasts); err != nil {
			t.Fatal(err)
		}
	}
	namespace := n.Namespace(t)
	k := newKubectl(t, sluice.Kubeconfig(t, "admin"), "--namespace="+namespace)
	k.run("create", "deployment", "web", "--image="+clientImage, "--replicas=2", "--port=8080")
	address := k.expose(namespace, "web")
	before := n.runs(t, namespace, 2)
	n.waitServed(t, address)
	o.Meanwhile = func() { n.waitServed(t, address) }

	for _, fault := range outage.Faults("-m conntrack --ctorigdst " + routedIP) {
		t.Run(fault.Name, func(t *testing.T) {
			k := kubectl{t, k.args}
			o.TestPromises(t, fault)
			back := time.Now()
			n.waitScheduling(t, sluice, back)
			n.waitReady(t)
			t.Logf("the node was ready %.1f s later", time.Since(back).Seconds())
			if after := n.runs(t, namespace, 2); !maps.Equal(before, after) {
				t.Errorf("the pods and the restarts of their containers were %v, and are %v", before, after)
			}
			k.run("set", "env", "deployment/web", "AFTER="+fault.Name)
			k.run("rollout", "status", "deployment/web", "--timeout=60s")
			before = n.runs(t, namespace, 2)
		})
	}
}

// waitScheduling waits until the scheduler has renewed its lease after an instant. If it has lost the lease and ended, it is
// started again, as a kubelet would.
func (n *Node) waitScheduling(t *testing.T, sluice *harness.Sluice, after time.Time) {
	t.Helper()
	harness.Eventually(t, "the scheduler renews its lease", func() error {
		if n.daemons[scheduler].ended() != nil {
			n.startScheduler(t, sluice.Kubeconfig(t, "admin"))
		}
		lease, err := n.Client("admin").CoordinationV1().Leases("kube-system").Get(t.Context(), scheduler, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s := lease.Spec; s.HolderIdentity == nil || *s.HolderIdentity == "" || s.RenewTime == nil || !s.RenewTime.After(after) {
			return fmt.Errorf("not renewed after %v: %v", after, s) // who loses it renews it for nobody
		}
		return nil
	})
}

// runs waits until the number of pods is ready, and returns the restarts of their containers by UID.
func (n *Node) runs(t *testing.T, namespace string, pods int) map[types.UID]int32 {
	t.Helper()
	restarts := map[types.UID]int32{}
	for _, p := range n.waitPodsReady(t, namespace, "app=web", pods) {
		restarts[p.UID] = 0
		for _, s := range p.Status.ContainerStatuses {
			restarts[p.UID] += s.RestartCount
		}
	}
	return restarts
}
