package table

// Tables of Eviction are left to the apiserver: they contain the time until a completion.
var lifecycleGroup = group{"lifecycle.k8s.io", []kind{
	{"EvictionRequest", versions("v1alpha1"), usual(
		text("Target", strOr(unset, "spec", "target", "pod", "name")),
		text("Target Type", either("Pod", unset, "spec", "target", "pod")),
		text("Status", quoted(evictionState)),
		text("Requester", str("spec", "requester")),
		text("Intent", str("spec", "intent")),
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
