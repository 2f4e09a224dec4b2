package table

import (
	scheduling "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

var schedulingGroup = group{"scheduling.k8s.io", []kind{
	{"PriorityClass", versions("v1"), newColumns(
		nameColumn,
		integer("Value", docOf[scheduling.PriorityClass]("value"), num("value")),
		boolean("Global-Default", docOf[scheduling.PriorityClass]("globalDefault"), flag(false, "globalDefault")),
		ageColumn,
		text("PreemptionPolicy", docOf[scheduling.PriorityClass]("preemptionPolicy"), str("preemptionPolicy")),
	)},
	{"Workload", versions("v1beta1", "v1alpha3"), nameAndAge},
	{"PodGroup", versions("v1beta1", "v1alpha3"), newColumns(
		nameColumn,
		text("Policy", docOf[schedulingv1beta1.PodGroupSpec]("schedulingPolicy"), groupPolicy),
		text("Workload", "Name of the referenced Workload object", quoted(groupWorkload)),
		text("Status", "Status of the PodGroup", quoted(groupState)),
		ageColumn,
	)},
	{"CompositePodGroup", versions("v1alpha3"), newColumns(
		nameColumn,
		text("Policy", docOf[schedulingv1alpha3.CompositePodGroupSpec]("schedulingPolicy"), groupPolicy),
		text("Workload", "Name of the referenced Workload object", quoted(groupWorkload)),
		ageColumn,
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
