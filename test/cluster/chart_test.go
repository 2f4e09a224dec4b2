package cluster

import "testing"

// The chart serves clients from the cache, keeps informers right and its CA while it is upgraded, and leaves nothing behind.
func (n *Node) chartServesClients(t *testing.T) {
	before := n.objects(t)
	n.operators(t, "apply")
	e := n.newEdge(t, "chart-install")
	gateways := e.waitReady(t)
	t.Run("Client", func(t *testing.T) { e.checkClient(t, gateways) })
	t.Run("Plugin", func(t *testing.T) { e.pluginReachesPods(t, "admin-cert") })
	t.Run("Upgrade", func(t *testing.T) {
		e.rollKeepsInformersRight(t, func() {
			e.guide.Shell("helm upgrade sluice deploy/helm/sluice --namespace sluice --reuse-values --wait --timeout 120s" +
				" --set podDisruptionBudget.enabled=true,flowSchema.enabled=true,config.cache.maxBytes=400000000")
		})
		if n.ca(t) != e.ca {
			t.Error("the upgrade has changed the CA")
		}
	})
	t.Run("Proxy", e.proxyServesClients)
	t.Run("Rights", e.rightsCanBeFew)
	t.Run("Upstream", e.servesAnotherCluster)
	e.guide.Run("chart-off")
	n.operators(t, "delete")
	n.nothingLeft(t, before)
}
