package table

var schedulingGroup = group{"scheduling.k8s.io", []kind{
	{"PriorityClass", versions("v1"), newColumns(
		nameColumn,
		integer("Value", num("value")),
		boolean("Global-Default", flag(false, "globalDefault")),
		ageColumn,
		text("PreemptionPolicy", str("preemptionPolicy")),
	)},
	{"Workload", versions("v1beta1", "v1alpha3"), nameAndAge},
	{"PodGroup", versions("v1beta1", "v1alpha3"), usual(
		text("Policy", groupPolicy),
		text("Workload", quoted(groupWorkload)),
		text("Status", quoted(groupState)),
	)},
	{"CompositePodGroup", versions("v1alpha3"), usual(
		text("Policy", groupPolicy),
		text("Workload", quoted(groupWorkload)),
	)},
}}

var groupPolicy = either("Gang", "Basic", "spec", "schedulingPolicy", "gang")

func groupWorkload(dst []byte, r *row) []byte {
	ref := r.spec.Get("workloadRef")
	if !present(ref) {
		return append(dst, none...)
	}
	return appendScalar(dst, ref.Get("workloadName"))
}

// groupState prints the reason of a disruption, or whether the group has been scheduled.
func groupState(dst []byte, r *row) []byte {
	conditions := r.status.Get("conditions")
	if c := lastCondition(conditions, "DisruptionTarget"); c != nil {
		return appendScalar(dst, c.Get("reason"))
	}
	switch c := lastCondition(conditions, "PodGroupInitiallyScheduled"); {
	case c == nil:
		return append(dst, "Pending"...)
	case is(c.Get("status"), "True"):
		return append(dst, "Scheduled"...)
	}
	return append(dst, "Unschedulable"...)
}
