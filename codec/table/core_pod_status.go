package table

import (
	"strconv"
	"time"

	"sluice/codec/json"
)

// A podState is the summary of a pod. It is computed once per row, because several columns print
// parts of it.
type podState struct {
	done bool

	phase, conditions     json.Value
	initStatus, runStatus json.Value
	initContainers        json.Value
	inits                 int // their number

	containers, ready, restarts int64
	restarted                   time.Time // the time of the last counted restart
	reason                      []byte    // the text of the column Status
	failure                     []byte    // scratch: the reason of a failed container
}

func (r *row) podState() *podState {
	p := &r.pod
	if p.done {
		return p
	}
	p.done = true
	p.readSpec(r.spec)
	p.readStatus(r.status)
	if !p.initialize() || conditionTrue(p.conditions, "Initialized") {
		p.run(r.older)
	}
	p.terminate(r)
	return p
}

func (p *podState) readSpec(spec json.Value) {
	p.containers = int64(spec.Get("containers").Len())
	p.initContainers = spec.Get("initContainers")
	for _, c := range p.initContainers.Elements {
		p.inits++
		if sidecar(c) {
			p.containers++
		}
	}
}

// readStatus reads the status, and sets the reason that applies unless a container has one: the
// pod's own, or its phase.
func (p *podState) readStatus(status json.Value) {
	p.phase, p.conditions = status.Get("phase"), status.Get("conditions")
	p.initStatus, p.runStatus = status.Get("initContainerStatuses"), status.Get("containerStatuses")
	p.reason = appendScalar(p.reason[:0], filled(status.Get("reason"), p.phase))
	for _, c := range p.conditions.Elements {
		if is(c.Get("type"), "PodScheduled") && is(c.Get("reason"), gated) {
			p.reason = append(p.reason[:0], gated...)
		}
	}
}

const gated = "SchedulingGated"

// sidecar reports whether an init container is a sidecar: it keeps running with the pod.
func sidecar(container json.Value) bool { return is(container.Get("restartPolicy"), "Always") }

// sidecarNamed reports whether the init container with this name is a sidecar.
func (p *podState) sidecarNamed(name json.Value) bool {
	for _, c := range p.initContainers.Elements {
		if string(bytesOf(c.Get("name"))) == string(bytesOf(name)) {
			return sidecar(c)
		}
	}
	return false
}

// initialize walks the init containers up to the first that blocks the pod, whose reason becomes
// the pod's, and reports whether there is one. Once all have finished, only the restarts of
// sidecars count.
func (p *podState) initialize() bool {
	var sidecars podState // restarts only
	held := false
	for i, c := range p.initStatus.Elements {
		p.count(c)
		always := p.sidecarNamed(c.Get("name"))
		if always {
			sidecars.count(c)
		}
		terminated := stateOf(c, "terminated")
		if terminated != nil && intOf(terminated.Get("exitCode")) == 0 {
			continue
		}
		if always && isTrue(c.Get("started")) {
			if isTrue(c.Get("ready")) {
				p.ready++
			}
			continue
		}
		p.hold(i, stateOf(c, "waiting"), terminated)
		held = true
		break
	}
	if !held || conditionTrue(p.conditions, "Initialized") {
		p.restarts, p.restarted = sidecars.restarts, sidecars.restarted
	}
	return held
}

// hold sets the pod's reason to the reason why init container i has not finished.
func (p *podState) hold(i int, waiting, terminated json.Value) {
	p.reason = append(p.reason[:0], "Init:"...)
	reason := bytesOf(waiting.Get("reason"))
	switch {
	case terminated != nil:
		p.reason = appendExit(p.reason, terminated)
	case len(reason) > 0 && string(reason) != "PodInitializing":
		p.reason = append(p.reason, reason...)
	default:
		p.reason = append(strconv.AppendInt(p.reason, int64(i), 10), '/')
		p.reason = strconv.AppendInt(p.reason, int64(p.inits), 10)
	}
}

// run walks the containers. The first one with a reason determines the pod's reason. A pod whose
// reason would be Completed while containers are running, or after one has failed, gets another one
// from complete. Before 1.35 a failed one did not count.
func (p *podState) run(older bool) {
	running, named := false, false
	p.failure = p.failure[:0]
	for _, c := range p.runStatus.Elements {
		p.count(c)
		waiting, terminated := stateOf(c, "waiting").Get("reason"), stateOf(c, "terminated")
		switch {
		case !empty(waiting):
			if !named {
				p.reason, named = append(p.reason[:0], bytesOf(waiting)...), true
			}
		case terminated != nil:
			if !named {
				p.reason, named = appendExit(p.reason[:0], terminated), true
			}
			if len(p.failure) == 0 && !older && intOf(terminated.Get("exitCode")) != 0 {
				p.failure = appendExit(p.failure, terminated)
			}
		case isTrue(c.Get("ready")) && stateOf(c, "running") != nil:
			running = true
			p.ready++
		}
	}
	if string(p.reason) == "Completed" {
		p.complete(running)
	}
}

func (p *podState) complete(running bool) {
	switch {
	case running && hasTrue(p.conditions, "Ready"):
		p.reason = append(p.reason[:0], "Running"...)
	case len(p.failure) > 0:
		p.reason = append(p.reason[:0], p.failure...)
	case running:
		p.reason = append(p.reason[:0], "NotReady"...)
	}
}

// terminate overrides the reason if the pod is being deleted.
func (p *podState) terminate(r *row) {
	if !r.terminating() {
		return
	}
	switch {
	case is(r.status.Get("reason"), "NodeLost"):
		p.reason = append(p.reason[:0], "Unknown"...)
	case !is(p.phase, "Failed") && !is(p.phase, "Succeeded"):
		p.reason = append(p.reason[:0], "Terminating"...)
	}
}

// count adds a container's restarts.
func (p *podState) count(status json.Value) {
	p.restarts += intOf(status.Get("restartCount"))
	if last := status.Get("lastState", "terminated"); present(last) {
		if t := timeOf(last.Get("finishedAt")); p.restarted.Before(t) {
			p.restarted = t
		}
	}
}

// hasTrue reports whether any condition of a type is "True".
func hasTrue(conditions json.Value, typ string) bool {
	for _, c := range conditions.Elements {
		if is(c.Get("type"), typ) && is(c.Get("status"), "True") {
			return true
		}
	}
	return false
}

// stateOf returns one of the three states of a container status, or nil if it does not apply.
func stateOf(status json.Value, name string) json.Value { return optional(status.Get("state", name)) }

// appendExit appends how a container ended: the reason if there is one, else the signal, else the
// exit code.
func appendExit(dst []byte, terminated json.Value) []byte {
	if reason := terminated.Get("reason"); !empty(reason) {
		return appendScalar(dst, reason)
	}
	if signal := intOf(terminated.Get("signal")); signal != 0 {
		return strconv.AppendInt(append(dst, "Signal:"...), signal, 10)
	}
	return strconv.AppendInt(append(dst, "ExitCode:"...), intOf(terminated.Get("exitCode")), 10)
}
