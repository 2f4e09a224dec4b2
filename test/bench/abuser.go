package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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

// abuser is a child process that lists far more often than other users. It has the lowest priority, so that
// it takes only CPU time that the clients of the others leave: what remains is what it costs the server.
type abuser struct {
	cmd   *exec.Cmd
	stdin io.Closer // the child ends when it is closed
	out   *bufio.Reader
}

// abuserOrder is what the child reads from stdin.
type abuserOrder struct {
	Host, CAFile, Token string
	CAData              []byte
	Every               time.Duration // a list starts
}

// startAbuser runs this program again as the abusive user of a server.
func startAbuser(config *rest.Config, token string, every time.Duration) (*abuser, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &abuser{cmd: exec.Command(program, abuserCommand)}
	a.cmd.Stderr = os.Stderr
	stdin, err := a.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	a.stdin = stdin
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.out = bufio.NewReader(out)
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	order := abuserOrder{config.Host, config.CAFile, token, config.CAData, every}
	if err := json.NewEncoder(stdin).Encode(order); err != nil {
		return nil, errors.Join(err, a.stdin.Close(), a.cmd.Wait())
	}
	return a, nil
}

// stop ends the child and returns the figures of its lists.
func (a *abuser) stop() (*abuseFigures, error) {
	_ = a.stdin.Close()
	f := new(abuseFigures)
	err := json.NewDecoder(a.out).Decode(f)
	return f, errors.Join(err, a.cmd.Wait())
}

// runAbuser runs in the child process and lists until stdin ends.
func runAbuser(ctx context.Context, stdin io.Reader, out io.Writer) error {
	in := json.NewDecoder(stdin)
	var order abuserOrder
	if err := in.Decode(&order); err != nil {
		return err
	}
	if err := lowestPriority(); err != nil {
		return err
	}
	config := &rest.Config{Host: order.Host, TLSClientConfig: rest.TLSClientConfig{CAFile: order.CAFile, CAData: order.CAData}}
	var connections []*harness.RawClient
	for range abuserConnections {
		raw, err := harness.NewRawClient(config)
		if err != nil {
			return err
		}
		connections = append(connections, raw)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in.Buffered())
		_, _ = io.Copy(io.Discard, stdin)
	}()
	lists := &abuseLists{}
	lists.flood(ctx, connections, order.Token, order.Every)
	figures, _ := lists.take()
	return json.NewEncoder(out).Encode(figures)
}

// lowestPriority makes all threads of this process run only while nothing else wants to. New
// threads inherit it.
func lowestPriority() error {
	tasks, err := os.ReadDir(self().path("task"))
	if err != nil {
		return err
	}
	for _, task := range tasks {
		var id int
		if _, err := fmt.Sscan(task.Name(), &id); err != nil {
			return err
		}
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
