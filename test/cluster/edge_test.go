package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

const (
	edgeNamespace = "sluice"
	edgeHost      = "sluice.sluice.svc"
	edgePods      = "app.kubernetes.io/name=sluice,app.kubernetes.io/component=gateway"
)

// edge is Sluice behind a Service.
type edge struct {
	*Node
	k       kubectl // as admin, at the apiserver
	guide   *harness.Guide
	address string // the Service's cluster IP
	ca      string // what clients must trust, in PEM
}

// guide returns the blocks of the guide that need a node.
func (n *Node) guide(t *testing.T) *harness.Guide {
	t.Helper()
	home := filepath.Join(scratch, "helm")
	return harness.NewGuide(t, "docs/deploying.md", "test/cluster", n.Kubeconfig("admin"), "CONTAINERD_ADDRESS="+n.Socket,
		"KUBECACHEDIR="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
}

// newEdge runs a block of the guide, which makes the namespace and the CA.
func (n *Node) newEdge(t *testing.T, block string) edge {
	t.Helper()
	e := edge{Node: n, k: newKubectl(t, n.Kubeconfig("admin")), guide: n.guide(t)}
	e.guide.Run(block)
	e.ca = n.ca(t)
	return e
}

// ca returns the CA of the Service.
func (n *Node) ca(t *testing.T) string {
	t.Helper()
	secret, err := n.Client("admin").CoreV1().Secrets(edgeNamespace).Get(t.Context(), "sluice-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(secret.Data["ca.crt"])
}

// waitReady waits until as many gateways as the Deployment wants are ready, and no others are left, and
// returns the addresses of their admin listeners.
func (e *edge) waitReady(t *testing.T) (gateways []string) {
	t.Helper()
	deployment, err := e.Client("admin").AppsV1().Deployments(edgeNamespace).Get(t.Context(), "sluice", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.address = e.k.clusterIP(edgeNamespace, "sluice")
	return adminAddresses(e.waitPodsReady(t, edgeNamespace, edgePods, int(*deployment.Spec.Replicas)), "9443")
}

// crash kills the process of one gateway, and waits until the kubelet has seen it.
func (e *edge) crash(t *testing.T) {
	t.Helper()
	found := processes("/sluice")
	if len(found) == 0 {
		t.Fatal("no process of a gateway")
	}
	if err := syscall.Kill(found[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "a container of a gateway is started again", func() error {
		pods, err := e.Client("admin").CoreV1().Pods(edgeNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: edgePods})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			for _, s := range pod.Status.ContainerStatuses {
				if s.RestartCount > 0 && s.Ready {
					return nil
				}
			}
		}
		return errors.New("none is")
	})
}

// publishCA writes the CA where the component client expects it.
func (e *edge) publishCA(namespace string) {
	e.k.run("create", "configmap", "sluice-ca", "--namespace="+namespace, "--from-literal=ca.crt="+e.ca)
}

// config returns a user's configuration for the Service.
func (e *edge) config(user string) *rest.Config {
	c := e.RESTConfig(user)
	c.Host = "https://" + e.address
	c.TLSClientConfig.ServerName, c.TLSClientConfig.CAData, c.TLSClientConfig.CAFile = edgeHost, []byte(e.ca), ""
	return c
}

// The overlays of deploy/kustomize are valid, serve clients from the cache, and leave nothing behind.
func (n *Node) overlaysServeClients(t *testing.T) {
	overlays, err := os.ReadDir(harness.Path(t, "deploy/kustomize/overlays"))
	if err != nil {
		t.Fatal(err)
	}
	for _, overlay := range overlays {
		t.Run(overlay.Name(), func(t *testing.T) {
			n.overlayServesClients(t, harness.Path(t, "deploy/kustomize/overlays/"+overlay.Name()))
		})
	}
}

func (n *Node) overlayServesClients(t *testing.T, overlay string) {
	before := n.objects(t)
	e := n.newEdge(t, "edge-certificate")
	ofTheGuide := filepath.Base(overlay) == "edge"
	if ofTheGuide {
		e.guide.Run("edge-install")
	} else {
		e.k.run("apply", "--server-side", "--validate=strict", "--kustomize="+overlay)
	}
	gateways := e.waitReady(t)
	t.Run("Client", func(t *testing.T) { e.checkClient(t, gateways) })
	if ofTheGuide {
		if pods := e.guide.Run("edge-try"); !strings.Contains(pods, edgeNamespace+" ") {
			t.Errorf("the guide's kubectl printed\n%s", pods)
		}
		t.Run("PortForward", e.commandsReachPods)
		t.Run("Roll", func(t *testing.T) {
			e.rollKeepsInformersRight(t, func() {
				e.k.run("rollout", "restart", "--namespace="+edgeNamespace, "deployment/sluice")
			})
		})
		t.Run("Crash", func(t *testing.T) { e.rollKeepsInformersRight(t, func() { e.crash(t) }) })
	}
	if ofTheGuide {
		e.guide.Run("edge-off")
	} else {
		e.k.run("delete", "--kustomize="+overlay, "--wait=false")
	}
	n.nothingLeft(t, before)
}

// commandsReachPods asks a pod for its status through the apiserver and the kubelet.
func (e *edge) commandsReachPods(t *testing.T) {
	pod := e.waitPodsReady(t, edgeNamespace, edgePods, 2)[0]
	g := harness.NewGuide(t, "docs/operating.md", "test/cluster", e.Kubeconfig("admin"), "POD="+pod.Name)
	g.Write("ca.crt", e.ca)
	g.Write("token", e.RESTConfig("admin").BearerToken)
	out := g.Shell(strings.TrimSpace(g.Commands("pod")[0]) + " -o json || test $? = 1") // it answers, well or not
	if !strings.Contains(out, `"kind": "Status"`) {
		t.Errorf("the pod answers\n%s", out)
	}
	// As a new user who has the kubeconfig of an administrator, with a token or a client certificate, and nothing else.
	for _, user := range []string{"admin", "admin-cert"} {
		e.pluginReachesPods(t, user)
	}
	out = g.Shell("timeout 60 sluice status --pod sluice/$POD --address http://127.0.0.1:1 2>&1 || test $? = 2")
	if !strings.Contains(out, "refused") { // by the pod, as the kubelet says
		t.Errorf("a port without a listener: %s", out)
	}
}

// pluginReachesPods asks the pods of an installation by their defaults.
func (e *edge) pluginReachesPods(t *testing.T, user string) {
	t.Helper()
	g := harness.NewGuide(t, "docs/operating.md", "test/cluster", e.Kubeconfig(user))
	if err := os.Symlink(harness.Program(t, "sluice"), filepath.Join(g.Dir, "kubectl-sluice")); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		strings.TrimSpace(g.Commands("plugin")[0]) + " || test $? = 1": "RESOURCE", // it answers, well or not
		"kubectl sluice clients":                    "USER",
		"kubectl sluice watches":                    "USER",
		"kubectl sluice why --last 3 --show served": "USER",
		"kubectl sluice bundle 2>&1 || test $? = 2": "name one of", // a bundle is of one replica
	} {
		if out := g.Shell("PATH=$PWD:$PATH; " + command); !strings.Contains(out, want) {
			t.Errorf("%s as %s:\n%s", command, user, out)
		}
	}
}

// checkClient runs a client whose workload the component client points to the Service.
func (e *edge) checkClient(t *testing.T, gateways []string) {
	w := e.newWorkload(t, false)
	e.publishCA(w.namespace)
	e.servesFromCache(t, gateways, func() {
		w.apply(t, w.pointedTo(t, e.address))
		pod := e.waitPodsReady(t, w.namespace, "app=web", 1)[0]
		w.checkClient(t, pod, "https://"+edgeHost+":443")
	})
}
