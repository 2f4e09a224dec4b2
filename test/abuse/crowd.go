package abuse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Crowd is the agents of a DaemonSet: one service account, a connection for each, a list of the pods of its node and
// a watch of them. An agent that loses its connection opens another, lists and watches again.
type Crowd struct {
	Agents int
	Tokens []string // of the agents in turn
	// Path returns the collection that an agent lists and watches, with a query.
	Path func(agent int) string
	// Pause is the least time until an agent comes again, and half of the most.
	Pause time.Duration

	watching atomic.Int64
	answers  counter // other than 200
}

// Watching returns how many agents have an open watch.
func (c *Crowd) Watching() int { return int(c.watching.Load()) }

// Refusals returns what else than the expected was answered since the last call, connections that were cut included.
func (c *Crowd) Refusals() Tally { return c.answers.take() }

// Run runs the agents until ctx ends.
func (c *Crowd) Run(ctx context.Context, t *Target) error {
	dialer, host, err := t.dialer()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	for i := range c.Agents {
		running.Go(func() {
			for again := true; again; again = sleep(ctx, c.Pause+rand.N(c.Pause)) {
				answer := with(ctx, dialer, host, firstWindow, func(x *conn) string { return c.agent(x, i) })
				if answer != "" && ctx.Err() == nil {
					c.answers.add(answer)
				}
			}
		})
	}
	return nil
}

// agent lists and watches over one connection, until that ends, and returns why.
func (c *Crowd) agent(x *conn, i int) string {
	path := c.Path(i)
	fields := map[string]string{"authorization": "Bearer " + c.Tokens[i%len(c.Tokens)], "accept": "application/json"}
	version, err := x.list(x.request("GET", path+"&resourceVersion=0", fields))
	if err == nil {
		err = x.follow(x.request("GET", path+"&watch=1&allowWatchBookmarks=true&resourceVersion="+version, fields), &c.watching)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// errCut is an error whose text is Cut.
var errCut = errors.New(Cut)

// expect returns the next part of a response with code 200. Another code is an error.
func (c *conn) expect() (answer, error) {
	a, err := c.take(false)
	switch {
	case err != nil:
		err = errCut
	case a.code != "" && a.code != "200":
		err = errors.New(a.code)
	}
	return a, err
}

// list returns the version of a list.
func (c *conn) list(header []byte) (version string, err error) {
	if _, err := c.open(header, true); err != nil {
		return "", errCut
	}
	var body []byte
	for {
		a, err := c.expect()
		if err != nil {
			return "", err
		}
		if len(body) < versionWithin {
			body = append(body, a.data...)
		}
		if a.end {
			return versionOf(body)
		}
	}
}

// versionWithin is how much of a list its version is in.
const versionWithin = 1 << 10

// versionOf finds the version of a list in JSON.
func versionOf(body []byte) (string, error) {
	_, rest, _ := bytes.Cut(body, []byte(`"resourceVersion":"`))
	version, _, found := bytes.Cut(rest, []byte(`"`))
	if _, err := strconv.ParseUint(string(version), 10, 64); err != nil || !found {
		return "", fmt.Errorf("a list without a version: %.40q", body)
	}
	return string(version), nil
}

// follow opens a watch and reads it until it ends.
func (c *conn) follow(header []byte, watching *atomic.Int64) error {
	if _, err := c.open(header, true); err != nil {
		return errCut
	}
	a, err := c.expect()
	if err != nil {
		return err
	}
	watching.Add(1)
	defer watching.Add(-1)
	for err == nil && !a.end {
		a, err = c.expect()
	}
	return err
}
