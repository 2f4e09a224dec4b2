package table

var schedulingGroup = group{"scheduling.k8s.io", []kind{
	{"PriorityClass", versions("v1"), priorityClass},
	{"Workload", versions("v1alpha2"), nameAndAge},
	{"PodGroup", versions("v1alpha2"), podGroup},
}}

var priorityClass = newColumns(
	nameColumn,
	integer("Value", priorityClassDoc["value"], num("value")),
	boolean("Global-Default", priorityClassDoc["globalDefault"], flag(false, "globalDefault")),
	ageColumn,
	text("PreemptionPolicy", priorityClassDoc["preemptionPolicy"], str("preemptionPolicy")),
)

var podGroup = newColumns(
	nameColumn,
	text("Policy", podGroupSpecDoc["schedulingPolicy"], quoted(groupPolicy)),
	text("Workload", "Name of the referenced Workload object", quoted(groupWorkload)),
	text("Status", "Status of the PodGroup", quoted(groupState)),
	ageColumn,
)

func groupPolicy(dst []byte, r *row) []byte {
	if present(r.spec.Get("schedulingPolicy", "gang")) {
		return append(dst, "Gang"...)
	}
	return append(dst, "Basic"...)
}

func groupWorkload(dst []byte, r *row) []byte {
	ref := r.spec.Get("podGroupTemplateRef")
	if !present(ref) {
		return append(dst, none...)
	}
	return appendScalar(dst, ref.Get("workload", "workloadName"))
}

// groupState prints the reason of a disruption, or whether the group has been scheduled.
func groupState(dst []byte, r *row) []byte {
	conditions := r.status.Get("conditions")
	if c := lastCondition(conditions, "DisruptionTarget"); c != nil {
		return appendScalar(dst, c.Get("reason"))
	}
	switch c := lastCondition(conditions, "PodGroupScheduled"); {
	case c == nil:
		return append(dst, "Pending"...)
	case is(c.Get("status"), "True"):
		return append(dst, "Scheduled"...)
	}
	return append(dst, "Unschedulable"...)
}
