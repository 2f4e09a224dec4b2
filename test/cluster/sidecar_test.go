package cluster

import (
	"bytes"
	"errors"
	"os/exec"
	"testing"

	"sluice/test/harness"
)

// The component sidecar adds a Sluice to a pod that serves its containers, with no rights but those
// of the pod's service account: from the cache what that may list in all namespaces, and the rest
// through the apiserver.
func (n *Node) sidecarServesItsPod(t *testing.T) {
	before := n.objects(t)
	for name, everyone := range map[string]bool{"rights in all namespaces": true, "rights in its namespace": false} {
		t.Run(name, func(t *testing.T) {
			w := n.newWorkload(t, everyone)
			w.publishSidecarCertificate(t)
			w.apply(t, w.kustomization(t, w.deployment("sidecar"), "sidecar"))
			pods := n.waitPodsReady(t, w.namespace, "app=web", 1)
			check := func() { w.checkClient(t, pods[0], "https://127.0.0.1:16443") }
			if gateways := adminAddresses(pods, "16444"); everyone {
				n.followsFromCache(t, gateways)
				n.servesFromCache(t, gateways, check)
			} else {
				check()
			}
		})
	}
	n.nothingLeft(t, before)
}

// followsFromCache waits until gateways serve a watch of ConfigMaps from their caches. Before that they pass gets: a
// store that is started by its first reader may still be being filled.
func (n *Node) followsFromCache(t *testing.T, gateways []string) {
	t.Helper()
	harness.Eventually(t, "a watch of ConfigMaps comes from the cache", func() error {
		if n.gauge(t, gateways, "sluice_watchers", "resource=configmaps") < 1 {
			return errors.New("there is none")
		}
		return nil
	})
}

// publishSidecarCertificate makes the certificate as the guide says.
func (w workload) publishSidecarCertificate(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), path(t, "bin", "sluice"), "certificate", "--cert-dir="+t.TempDir(),
		"--namespace="+w.namespace, "--name=sluice-sidecar-ca").Output()
	if err != nil {
		t.Fatal(err)
	}
	apply := newKubectl(t, w.Kubeconfig("admin")).command("apply", "--filename=-")
	apply.Stdin = bytes.NewReader(out)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
