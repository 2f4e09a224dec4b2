package main

import (
	"context"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// The names of the targets.
const (
	apiserverName = "apiserver"
	sluiceName    = "sluice"
	floorName     = "floor"
	twoTiersName  = "two tiers"
)

// target is one server under load.
type target struct {
	name   string
	proc   proc
	config *rest.Config
	sluice *harness.Sluice // nil if the target is not a Sluice

	connections []*harness.RawClient // each uses one HTTP/2 connection for up to streams requests
}

// streams is the servers' limit of concurrent requests per connection.
const streams = 100

// connection returns the i-th connection and creates it if necessary. Goroutines may share only
// connections that exist.
func (t *target) connection(i int) *harness.RawClient {
	for len(t.connections) <= i {
		t.connections = append(t.connections, must(harness.NewRawClient(t.config)))
	}
	return t.connections[i]
}

// connect opens n connections with a cheap request on each.
func (t *target) connect(ctx context.Context, n int) {
	for i := range n {
		must(t.connection(i).Get(ctx, "/version", "*/*"))
	}
}

// close closes the connections; the next use opens new ones.
func (t *target) close() {
	for _, raw := range t.connections {
		raw.Close()
	}
	t.connections = nil
}
