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

	connections []*harness.RawClient // each uses one HTTP/2 connection for up to streams requests
}

// streams is the servers' limit of concurrent requests per connection.
const streams = 100

// connection returns the i-th connection and creates it if necessary. Goroutines may share only
// connections that exist.
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

// close closes the connections; the next use opens new ones.
func (t *target) close() {
	for _, raw := range t.connections {
		raw.Close()
	}
	t.connections = nil
}
