package cluster

import (
	"errors"
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
			w.guide(t).Shell("sluice certificate --name sluice-sidecar-ca --namespace " + w.namespace + " | kubectl apply --filename -")
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
