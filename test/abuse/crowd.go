package abuse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
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
	lists    atomic.Int64 // that were answered
	answers  counter      // other than 200
}

// Watching returns how many agents have an open watch.
func (c *Crowd) Watching() int { return int(c.watching.Load()) }

// Lists returns how many lists were answered.
func (c *Crowd) Lists() int { return int(c.lists.Load()) }

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
			for c.agent(ctx, dial, host, i); sleep(ctx, c.Pause+rand.N(c.Pause)); {
				c.agent(ctx, dial, host, i)
			}
		})
	}
	return nil
}

// agent lists and watches over one connection, until it or ctx ends.
func (c *Crowd) agent(ctx context.Context, dial func(context.Context) (net.Conn, error), host string, i int) {
	tls, err := dial(ctx)
	if err != nil {
		c.failed(ctx, Refused)
		return
	}
	defer tls.Close()
	defer context.AfterFunc(ctx, func() { _ = tls.Close() })()
	x, err := newConn(tls, firstWindow)
	if err != nil {
		c.failed(ctx, Cut)
		return
	}
	path := c.Path(i)
	fields := map[string]string{"authorization": "Bearer " + c.Tokens[i%len(c.Tokens)], "accept": "application/json"}
	version, err := x.list(request("GET", path+"&resourceVersion=0", host, fields))
	if err != nil {
		c.failed(ctx, err.Error())
		return
	}
	c.lists.Add(1)
	if _, err = x.open(request("GET", path+"&watch=1&allowWatchBookmarks=true&resourceVersion="+version, host, fields), true); err != nil {
		c.failed(ctx, Cut)
		return
	}
	if err := x.follow(&c.watching); err != nil {
		c.failed(ctx, err.Error())
	}
}

func (c *Crowd) failed(ctx context.Context, answer string) {
	if ctx.Err() == nil {
		c.answers.add(answer)
	}
}

// errCut is an error whose text is Cut.
var errCut = errors.New(Cut)

// list returns the version of a list.
func (c *conn) list(header []byte) (version string, err error) {
	if _, err := c.open(header, true); err != nil {
		return "", errCut
	}
	var body []byte
	for {
		a, err := c.read()
		if err == nil && len(a.data) > 0 {
			err = c.grant(0, len(a.data))
			if err == nil && !a.end {
				err = c.grant(a.stream, len(a.data))
			}
		}
		switch {
		case err != nil:
			return "", errCut
		case a.code != "" && a.code != "200":
			return "", errors.New(a.code)
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
		a, err := c.read()
		if err != nil {
			return errCut
		}
		if a.code == "200" {
			open = true
			watching.Add(1)
		} else if a.code != "" {
			return errors.New(a.code)
		}
		if n := len(a.data); n > 0 && !a.end {
			if c.grant(0, n) != nil || c.grant(a.stream, n) != nil {
				return errCut
			}
		}
		if a.end {
			return nil
		}
	}
}
