package main

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

const (
	abuserCommand = "abuser" // the argument that makes this program the abusive user's child process
	// abuserConnections is how many connections the abusive user has.
	abuserConnections = 8
)

// abuserOrder is what the child that lists far more often than other users reads from stdin. It has the lowest
// priority, so that it takes only CPU time that the clients of the others leave: what remains is what it costs the
// server.
type abuserOrder struct {
	Host, CAFile, Token string
	CAData              []byte
	Every               time.Duration // a list starts
}

// startAbuser runs this program again as the abusive user of a server.
func startAbuser(config *rest.Config, token string, every time.Duration) *child {
	return startOrder(abuserCommand, abuserOrder{config.Host, config.CAFile, token, config.CAData, every})
}

// runAbuser runs in the child process and lists until stdin ends.
func runAbuser(ctx context.Context, _ []string, stdin io.Reader, out io.Writer) {
	var order abuserOrder
	ctx, cancel := takeOrder(ctx, stdin, &order)
	defer cancel()
	self().lowestPriority()
	config := &rest.Config{Host: order.Host, TLSClientConfig: rest.TLSClientConfig{CAFile: order.CAFile, CAData: order.CAData}}
	var connections []*harness.RawClient
	for range abuserConnections {
		connections = append(connections, must(harness.NewRawClient(config)))
	}
	lists := &abuseLists{}
	lists.flood(ctx, connections, order.Token, order.Every)
	check(json.NewEncoder(out).Encode(lists.take()))
}

// flood starts a list of all pods again and again, whether those before have ended or not, until ctx ends.
func (l *abuseLists) flood(ctx context.Context, connections []*harness.RawClient, token string, every time.Duration) {
	var running sync.WaitGroup
	defer running.Wait()
	places := make(chan struct{}, streams*len(connections))
	t := time.NewTicker(every)
	defer t.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		select {
		case places <- struct{}{}:
			running.Go(func() {
				defer func() { <-places }()
				l.drain(ctx, connections[i%len(connections)], token, "/api/v1/pods?resourceVersion=0")
			})
		default: // the server is that slow
		}
	}
}
