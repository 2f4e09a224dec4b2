package consistency

import (
	"testing"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// tierReads is the number of answered reads of each resource in front of two tiers.
const tierReads = 150

// tierLoads are quiet, so that their proofs need the apiserver, and one is busy.
var tierLoads = []load{loads[busyBuiltin], loads[smallQuiet], loads[uncached]}

// A Sluice whose upstream is another Sluice keeps every promise while the watches of the lower one lag.
func TestPromisesHoldThroughTwoTiers(t *testing.T) {
	results := scenario{name: "tiers", seed: *seed, loads: tierLoads, front: upperTier, during: func(t *testing.T, e *execution) {
		e.gateway.lag.Set(0, normalLag)
		e.gateway.link.Delay(normalDelay)
		e.awaitReads(t, tierReads)
	}}.run(t)
	for _, r := range results {
		r.judge(t)
	}
}

// upperTier starts a Sluice in front of the gateway.
func upperTier(t *testing.T, g *gateway) *rest.Config {
	t.Helper()
	upper := controlPlane.StartSluice(t, harness.SluiceOptions{Binary: *binary, Upstream: g.RESTConfig("sluice")})
	return upper.RESTConfig("admin")
}
