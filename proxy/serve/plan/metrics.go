package plan

import "github.com/prometheus/client_golang/prometheus"

// PolicyMetric counts the reads of callers that have a policy.
type PolicyMetric = prometheus.CounterVec

// NewPolicyMetric returns the counter of the reads of callers that have a policy.
func NewPolicyMetric() *PolicyMetric {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_policy_projections_total",
		Help: `Reads from the cache whose caller has a projection by configuration, by what they show: "projected"; or whole objects, ` +
			`because the caller may write them ("may-write") or because of the kind or the format ("impossible").`,
	}, []string{"group", "resource", "shows"})
}
