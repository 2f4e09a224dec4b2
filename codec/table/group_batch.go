package table

import "sluice/codec/json"

var batchGroup = group{"batch", []kind{
	{"Job", versions("v1"), usual(
		text("Status", quoted(jobState)),
		text("Completions", quoted(jobCompletions)),
		text("Duration", quoted(jobDuration)),
		wide(containerNames(templateContainers)),
		wide(containerImages(templateContainers)),
		wide(text("Selector", selectorCell("spec", "selector"))),
	)},
	{"CronJob", versions("v1"), usual(
		text("Schedule", str("spec", "schedule")),
		text("Timezone", strOr(none, "spec", "timeZone")),
		boolean("Suspend", quoted(cronJobSuspended)),
		integer("Active", count("status", "active")),
		text("Last Schedule", since(none, "status", "lastScheduleTime")),
		wide(containerNames(cronJobContainers)),
		wide(containerImages(cronJobContainers)),
		wide(text("Selector", selectorCell("spec", "jobTemplate", "spec", "selector"))),
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
