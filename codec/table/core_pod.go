package table

import "strconv"

var pod = usual(
	text("Ready", quoted(podReady)),
	text("Status", quoted(podStatus)),
	text("Restarts", quoted(podRestarts)),
	wide(text("IP", quoted(podIP))),
	wide(text("Node", filledOr(none, "spec", "nodeName"))),
	wide(text("Nominated Node", filledOr(none, "status", "nominatedNodeName"))),
	wide(text("Readiness Gates", quoted(readinessGates))),
).with(rules{conditions: podConditions, cellsSince: 35})

func podReady(dst []byte, r *row) []byte {
	p := r.podState()
	dst = append(strconv.AppendInt(dst, p.ready, 10), '/')
	return strconv.AppendInt(dst, p.containers, 10)
}

func podStatus(dst []byte, r *row) []byte { return append(dst, r.podState().reason...) }

// podRestarts prints the number of restarts and the age of the last one.
func podRestarts(dst []byte, r *row) []byte {
	p := r.podState()
	dst = strconv.AppendInt(dst, p.restarts, 10)
	if p.restarts == 0 || p.restarted.IsZero() {
		return dst
	}
	dst = r.appendAge(append(dst, " ("...), p.restarted)
	return append(dst, " ago)"...)
}

func podIP(dst []byte, r *row) []byte {
	for _, ip := range r.status.Get("podIPs").Elements {
		return appendFilled(dst, ip.Get("ip"), none)
	}
	return append(dst, none...)
}

// readinessGates prints how many of the gates' conditions are true.
func readinessGates(dst []byte, r *row) []byte {
	all, open := int64(0), int64(0)
	for _, gate := range r.spec.Get("readinessGates").Elements {
		all++
		if conditionTrue(r.status.Get("conditions"), string(bytesOf(gate.Get("conditionType")))) {
			open++
		}
	}
	if all == 0 {
		return append(dst, none...)
	}
	dst = append(strconv.AppendInt(dst, open, 10), '/')
	return strconv.AppendInt(dst, all, 10)
}

// podConditions returns the condition Completed for pods in a final phase.
func podConditions(dst []byte, r *row) []byte {
	reason, message := "", ""
	switch phase := r.status.Get("phase"); {
	case is(phase, "Succeeded"):
		reason, message = "Succeeded", "The pod has completed successfully."
	case is(phase, "Failed"):
		reason, message = "Failed", "The pod failed."
	default:
		return dst
	}
	dst = append(dst, `[{"type":"Completed","status":"True","reason":"`...)
	dst = append(append(dst, reason...), `","message":"`...)
	return append(append(dst, message...), `"}]`...)
}
