package table

import (
	batch "k8s.io/api/batch/v1"

	"sluice/codec/json"
)

var batchGroup = group{"batch", []kind{
	{"Job", versions("v1"), newColumns(
		nameColumn,
		text("Status", "Status of the job.", quoted(jobState)),
		text("Completions", docOf[batch.JobStatus]("succeeded"), quoted(jobCompletions)),
		text("Duration", "Time required to complete the job.", quoted(jobDuration)),
		ageColumn,
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
		wide(text("Selector", docOf[batch.JobSpec]("selector"), selectorCell("spec", "selector"))),
	)},
	{"CronJob", versions("v1"), newColumns(
		nameColumn,
		text("Schedule", docOf[batch.CronJobSpec]("schedule"), str("spec", "schedule")),
		text("Timezone", docOf[batch.CronJobSpec]("timeZone"), strOr(none, "spec", "timeZone")),
		boolean("Suspend", docOf[batch.CronJobSpec]("suspend"), quoted(cronJobSuspended)),
		integer("Active", docOf[batch.CronJobStatus]("active"), count("status", "active")),
		text("Last Schedule", docOf[batch.CronJobStatus]("lastScheduleTime"), since(none, "status", "lastScheduleTime")),
		ageColumn,
		wide(containerNames(cronJobContainers)),
		wide(containerImages(cronJobContainers)),
		wide(text("Selector", docOf[batch.JobSpec]("selector"), selectorCell("spec", "jobTemplate", "spec", "selector"))),
	)},
}}

// jobState prints the first state that applies. A finished job keeps its state while it is being
// deleted, and a job that is being deleted is not called suspended.
func jobState(dst []byte, r *row) []byte {
	conditions := r.status.Get("conditions")
	state := "Running"
	switch {
	case conditionTrue(conditions, "Complete"):
		state = "Complete"
	case conditionTrue(conditions, "Failed"):
		state = "Failed"
	case r.terminating():
		state = "Terminating"
	case conditionTrue(conditions, "Suspended"):
		state = "Suspended"
	case conditionTrue(conditions, "FailureTarget"):
		state = "FailureTarget"
	case conditionTrue(conditions, "SuccessCriteriaMet"):
		state = "SuccessCriteriaMet"
	}
	return append(dst, state...)
}

// jobCompletions prints how many pods have succeeded and how many must. A job without a number of
// completions needs one success of any of its pods.
func jobCompletions(dst []byte, r *row) []byte {
	succeeded := r.status.Get("succeeded")
	if n := r.spec.Get("completions"); present(n) {
		return appendRatio(dst, succeeded, n)
	}
	dst = append(appendInt(dst, succeeded), "/1"...)
	if p := r.spec.Get("parallelism"); intOf(p) > 1 {
		dst = appendInt(append(dst, " of "...), p)
	}
	return dst
}

// jobDuration prints how long the job has been running, or ran.
func jobDuration(dst []byte, r *row) []byte {
	started, completed := r.status.Get("startTime"), r.status.Get("completionTime")
	if !isSet(started) {
		return dst
	}
	if isSet(completed) {
		return appendDuration(dst, timeOf(completed).Sub(timeOf(started)))
	}
	return r.appendElapsed(dst, timeOf(started))
}

var cronJobContainers = path("spec", "jobTemplate", "spec", "template", "spec", "containers")

// cronJobSuspended prints a string although the column is of type boolean.
func cronJobSuspended(dst []byte, r *row) []byte {
	switch v := r.spec.Get("suspend"); {
	case v.Kind() != json.Bool:
		return append(dst, unset...)
	case isTrue(v):
		return append(dst, "True"...)
	}
	return append(dst, "False"...)
}
