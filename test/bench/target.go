package main

import (
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// The names of the targets.
const (
	apiserverName = "apiserver"
	sluiceName    = "sluice"
	floorName     = "floor"
)

// target is one server under load.
type target struct {
	name   string
	proc   proc
	config *rest.Config

	connections []*harness.RawClient // each has one HTTP/2 connection while it carries less than streams requests
}

// streams is how many requests one connection carries at most, by the servers' own limit.
const streams = 100

// connection returns the i-th connection. Those that goroutines share must have been made before.
func (t *target) connection(i int) (*harness.RawClient, error) {
	for len(t.connections) <= i {
		raw, err := harness.NewRawClient(t.config)
		if err != nil {
			return nil, err
		}
		t.connections = append(t.connections, raw)
	}
	return t.connections[i], nil
}

// close gives up the connections; the next use makes new ones.
func (t *target) close() {
	for _, raw := range t.connections {
		raw.Close()
	}
	t.connections = nil
}
