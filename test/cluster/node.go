package cluster

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// Node is a running cluster with one node: the control plane, containerd, kubelet, kube-proxy and
// kube-scheduler.
type Node struct {
	*harness.ControlPlane
	Dir        string // configurations, logs and the state of containerd
	Socket     string // of containerd
	NodeIP     string
	PodCIDR    string
	Cgroup     string
	Plugins    string
	PauseImage string
	PlaneDir   string // of the control plane

	daemons map[string]*daemon
}

const port = "6443"

// startNode starts a cluster and stops it when the test ends. It returns before the node is ready.
func startNode(t *testing.T) *Node {
	t.Helper()
	dir := filepath.Join(scratch, "node")
	n := &Node{
		Dir: dir, Socket: filepath.Join(dir, "containerd.sock"), NodeIP: nodeIP, PodCIDR: podCIDR, Cgroup: cgroupName(),
		Plugins: plugins, PauseImage: pauseImage, PlaneDir: filepath.Join(scratch, "plane"),
		daemons: make(map[string]*daemon),
	}
	if err := os.MkdirAll(filepath.Join(dir, "cni"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(harness.Logs(n.Dir))
		}
	})
	n.write(t, "cni/cluster.conflist", "cni.conflist")
	n.start(t, "containerd", "containerd", "--config", n.write(t, "containerd.toml", "containerd.toml"))
	n.startControlPlane(t)
	n.startPrograms(t, n.Kubeconfig("admin"))
	return n
}

// startControlPlane starts an apiserver that pods can reach and that can reach the kubelet.
func (n *Node) startControlPlane(t *testing.T) {
	t.Helper()
	n.ControlPlane = harness.Start(t, harness.Options{
		Dir: n.PlaneDir, Address: nodeIP, Port: port, Controllers: true,
		Flags: []string{
			"--advertise-address=" + nodeIP,
			"--kubelet-preferred-address-types=InternalIP",
			"--kubelet-client-certificate=" + filepath.Join(n.PlaneDir, "admin-cert.crt"),
			"--kubelet-client-key=" + filepath.Join(n.PlaneDir, "admin-cert.key"),
		},
	})
}

// The programs of the node that talk to the API.
const (
	kubelet   = "kubelet"
	kubeProxy = "kube-proxy"
	scheduler = "kube-scheduler"
)

// startPrograms starts the programs that talk to the API, with the server of a kubeconfig.
func (n *Node) startPrograms(t *testing.T, server string) {
	t.Helper()
	program := harness.Program(t, "node")
	n.start(t, kubelet, program, kubelet, "--kubeconfig="+n.kubeconfig(t, server, kubelet, "system:node:"+nodeName, "system:nodes"),
		"--config="+n.write(t, "kubelet.yaml", "kubelet.yaml"), "--hostname-override="+nodeName, "--node-ip="+nodeIP, "--cert-dir="+filepath.Join(n.Dir, "pki"))
	n.startScheduler(t, server)
	n.kubeconfig(t, server, kubeProxy, "system:kube-proxy")
	n.start(t, kubeProxy, program, kubeProxy, "--config="+n.write(t, "kube-proxy.yaml", "kube-proxy.yaml"),
		"--hostname-override="+nodeName)
}

func (n *Node) startScheduler(t *testing.T, server string) {
	t.Helper()
	n.start(t, scheduler, harness.Program(t, "node"), scheduler, "--kubeconfig="+n.kubeconfig(t, server, scheduler, "system:kube-scheduler"),
		"--authentication-skip-lookup", "--cert-dir="+filepath.Join(n.Dir, "pki-scheduler"))
}

//go:embed templates
var templates embed.FS

// write writes a configuration from a template and returns its path.
func (n *Node) write(t *testing.T, file, name string) string {
	t.Helper()
	tmpl, err := template.ParseFS(templates, "templates/"+name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(n.Dir, file)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tmpl.Execute(f, n); err != nil {
		t.Fatal(err)
	}
	return path
}

// stopPrograms stops what startPrograms has started.
func (n *Node) stopPrograms(t *testing.T) {
	t.Helper()
	for _, name := range []string{kubelet, kubeProxy, scheduler} {
		n.daemons[name].stop(t)
	}
}

// waitReady waits until the node can run pods.
func (n *Node) waitReady(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "the node is ready", func() error {
		node, err := n.Client("admin").CoreV1().Nodes().Get(context.Background(), nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return n.alive()
			}
		}
		return fmt.Errorf("its conditions are %v", node.Status.Conditions)
	})
}

// alive returns an error if a program of the node has ended.
func (n *Node) alive() error {
	for _, d := range n.daemons {
		if err := d.ended(); err != nil {
			return err
		}
	}
	return nil
}
