package table

import lifecycle "k8s.io/api/lifecycle/v1alpha1"

// Tables of Eviction are left to the apiserver: they contain the time until a completion.
var lifecycleGroup = group{"lifecycle.k8s.io", []kind{
	{"EvictionRequest", versions("v1alpha1"), newColumns(
		nameColumn,
		text("Target", docOf[lifecycle.EvictionRequestSpec]("target"), strOr(unset, "spec", "target", "pod", "name")),
		text("Target Type", docOf[lifecycle.EvictionRequestSpec]("target"), either("Pod", unset, "spec", "target", "pod")),
		text("Status", docOf[lifecycle.EvictionRequestStatus]("conditions"), quoted(evictionState)),
		text("Requester", docOf[lifecycle.EvictionRequestSpec]("requester"), str("spec", "requester")),
		text("Intent", docOf[lifecycle.EvictionRequestSpec]("intent"), str("spec", "intent")),
		ageColumn,
	)},
}}

// evictionState prints the result with its reason, or how far the request has got.
func evictionState(dst []byte, r *row) []byte {
	conditions := r.status.Get("conditions")
	for _, result := range []string{"TargetEvicted", "Failed"} {
		if c := condition(conditions, result); is(c.Get("status"), "True") {
			dst = appendScalar(append(append(dst, result...), " ("...), c.Get("reason"))
			return append(dst, ')')
		}
	}
	if intOf(r.status.Get("observedGeneration")) > 0 {
		return append(dst, "Progressing"...)
	}
	return append(dst, "Pending"...)
}
