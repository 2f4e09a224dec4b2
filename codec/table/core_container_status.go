package table

import (
	"strconv"

	"sluice/codec/json"
)

// A containerStatus is one entry of a pod's container statuses. Of the three states, those that do
// not apply are nil.
type containerStatus struct {
	name, ready, started, restarts json.Value
	waiting, running, terminated   json.Value
	last                           json.Value // the state before this one
}

func readStatus(v json.Value) (c containerStatus) {
	for key, v := range v.Members {
		switch string(key) {
		case "name":
			c.name = v
		case "ready":
			c.ready = v
		case "started":
			c.started = v
		case "restartCount":
			c.restarts = v
		case "lastState":
			c.last = v
		case "state":
			c.readState(v)
		}
	}
	return c
}

func (c *containerStatus) readState(state json.Value) {
	for key, v := range state.Members {
		if !present(v) {
			continue
		}
		switch string(key) {
		case "waiting":
			c.waiting = v
		case "running":
			c.running = v
		case "terminated":
			c.terminated = v
		}
	}
}

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
