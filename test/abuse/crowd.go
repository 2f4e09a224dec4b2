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
	dial, err := t.dialer()
	if err != nil {
		return err
	}
	host, _ := loopback(t.URL)
	var running sync.WaitGroup
	defer running.Wait()
	for i := range c.Agents {
		running.Go(func() {
			for again := true; again; again = sleep(ctx, c.Pause+rand.N(c.Pause)) {
				answer := with(ctx, dial, firstWindow, func(x *conn) string { return c.agent(x, host, i) })
				if answer != "" && ctx.Err() == nil {
					c.answers.add(answer)
				}
			}
		})
	}
	return nil
}

// agent lists and watches over one connection, until that ends, and returns why.
func (c *Crowd) agent(x *conn, host string, i int) string {
	path := c.Path(i)
	fields := map[string]string{"authorization": "Bearer " + c.Tokens[i%len(c.Tokens)], "accept": "application/json"}
	version, err := x.list(request("GET", path+"&resourceVersion=0", host, fields))
	if err != nil {
		return err.Error()
	}
	if _, err = x.open(request("GET", path+"&watch=1&allowWatchBookmarks=true&resourceVersion="+version, host, fields), true); err != nil {
		return Cut
	}
	if err := x.follow(&c.watching); err != nil {
		return err.Error()
	}
	return ""
}

// errCut is an error whose text is Cut.
var errCut = errors.New(Cut)

// take returns the next part of a response with code 200, and lets the server send as much again. Another code is an error.
func (c *conn) take() (a answer, err error) {
	a, err = c.read()
	if n := len(a.data); err == nil && n > 0 {
		err = c.grant(0, n)
		if err == nil && !a.end {
			err = c.grant(a.stream, n)
		}
	}
	switch {
	case err != nil:
		return a, errCut
	case a.code != "" && a.code != "200":
		return a, errors.New(a.code)
	}
	return a, nil
}

// list returns the version of a list.
func (c *conn) list(header []byte) (version string, err error) {
	if _, err := c.open(header, true); err != nil {
		return "", errCut
	}
	var body []byte
	for {
		a, err := c.take()
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

// follow reads a watch until it ends.
func (c *conn) follow(watching *atomic.Int64) error {
	open := false
	defer func() {
		if open {
			watching.Add(-1)
		}
	}()
	for {
		a, err := c.take()
		if err != nil || a.end {
			return err
		}
		if a.code != "" {
			open = true
			watching.Add(1)
		}
	}
}
