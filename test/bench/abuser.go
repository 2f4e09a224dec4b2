package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
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
func startAbuser(config *rest.Config, token string, every time.Duration) (*child, error) {
	return startChild(abuserCommand, abuserOrder{config.Host, config.CAFile, token, config.CAData, every})
}

// runAbuser runs in the child process and lists until stdin ends.
func runAbuser(ctx context.Context, stdin io.Reader, out io.Writer) (err error) {
	defer fails(&err)
	var order abuserOrder
	ctx, cancel, err := takeOrder(ctx, stdin, &order)
	if err != nil {
		return err
	}
	defer cancel()
	check(lowestPriority())
	config := &rest.Config{Host: order.Host, TLSClientConfig: rest.TLSClientConfig{CAFile: order.CAFile, CAData: order.CAData}}
	var connections []*harness.RawClient
	for range abuserConnections {
		connections = append(connections, must(harness.NewRawClient(config)))
	}
	lists := &abuseLists{}
	lists.flood(ctx, connections, order.Token, order.Every)
	figures, _ := lists.take()
	return json.NewEncoder(out).Encode(figures)
}

// lowestPriority makes all threads of this process run only while nothing else wants to. New
// threads inherit it.
func lowestPriority() (err error) {
	defer fails(&err)
	tasks := must(os.ReadDir(self().path("task")))
	for _, task := range tasks {
		var id int
		must(fmt.Sscan(task.Name(), &id))
		if err := unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
			return fmt.Errorf("priority of thread %d: %w", id, err)
		}
	}
	return nil
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
