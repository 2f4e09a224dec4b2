package cluster

import (
	"testing"

	"sluice/test/harness"
)

// TestCluster runs its steps in order on one node, because a node takes long to start.
func TestCluster(t *testing.T) {
	requireNode(t)
	n := startNode(t)
	n.loadTestImages(t)
	n.guide(t).Run("import", "bin/image/sluice.tar", "bin/cluster-image/sluice.tar")
	n.waitReady(t)
	// Beside the cluster, not in it.
	sluice := n.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Upstream: n.routed(t), Flags: []string{"--proxy-listen=127.0.0.1:0"}})
	// A step is not run on a node that an earlier one left broken.
	_ = t.Run("StreamsReachContainers", func(t *testing.T) { n.streamsReachContainers(t, sluice) }) &&
		t.Run("NodeWorksThroughSluice", func(t *testing.T) { n.nodeWorksThroughSluice(t, sluice) }) &&
		t.Run("NodeOutlivesOutages", func(t *testing.T) { n.nodeOutlivesOutages(t, sluice) }) &&
		t.Run("SidecarServesItsPod", n.sidecarServesItsPod) &&
		t.Run("OverlaysServeClients", n.overlaysServeClients) &&
		t.Run("ChartServesClients", n.chartServesClients) &&
		t.Run("WatchesComeFromTheCache", func(t *testing.T) { n.watchesComeFromTheCache(t, sluice) })
}
