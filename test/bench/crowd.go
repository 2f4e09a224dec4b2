package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/test/abuse"
	"sluice/test/harness"
)

const (
	crowdPath = "/crowd" // of the floor
	// crowdLimit is how long agents may take until all are there, and crowdPause the least time until one that has lost
	// its connection comes again.
	crowdLimit = 3 * time.Minute
	crowdPause = 500 * time.Millisecond
	// crowdWindow is how long each measurement of the other user lasts.
	crowdWindow = 10 * time.Second
	// crowdSettle is how long a server has to return memory that it does not use.
	crowdSettle = 30 * time.Second
)

// crowds measures the crowd at the floor, the apiserver and a new Sluice.
func (w *world) crowds(ctx context.Context, r *report) error {
	var tokens []string
	for _, at := range []struct {
		name    string
		measure func(context.Context, []string) (*row, error)
	}{{floorName, w.crowdAtFloor}, {apiserverName, w.crowdAtApiserver}, {sluiceName, w.crowdAtSluice}} {
		if !w.only.matches("crowd " + at.name) {
			continue
		}
		progress("%d agents at the %s", w.agents, at.name)
		if tokens == nil {
			var err error
			if tokens, err = w.podReaders(ctx, 2); err != nil {
				return err
			}
		}
		row, err := at.measure(ctx, tokens)
		if err != nil {
			return fmt.Errorf("crowd at the %s: %w", at.name, err)
		}
		r.add(row)
	}
	return nil
}

// podsOf returns the path of the pods of an agent's node. There are more agents than nodes with pods.
func (w *world) podsOf(agent int) string {
	node := fmt.Sprintf("agent-node-%d", agent)
	if agent < len(w.nodes) {
		node = w.nodes[agent]
	}
	return "/api/v1/pods?fieldSelector=spec.nodeName%3D" + node
}

func (w *world) crowdAtFloor(ctx context.Context, tokens []string) (*row, error) {
	f, err := startFloor("GOGC=50") // as Sluice with many connections
	if err != nil {
		return nil, err
	}
	defer func() { stopped(f.stop()) }()
	list := &harness.Response{Body: []byte(`{"metadata":{"resourceVersion":"1"}}`)}
	if err := f.put(ctx, crowdPath, list); err != nil {
		return nil, err
	}
	t := &target{name: floorName, proc: f.proc(), config: f.config()}
	return w.crowdAt(ctx, t, tokens, func(int) string { return crowdPath + "?" }, crowdOf{settled: f.release})
}

func (w *world) crowdAtApiserver(ctx context.Context, tokens []string) (*row, error) {
	return w.crowdAt(ctx, w.direct(harness.Anonymous), tokens, w.podsOf, crowdOf{})
}

func (w *world) crowdAtSluice(ctx context.Context, tokens []string) (got *row, err error) {
	err = w.withSluice(ctx, harness.SluiceOptions{}, func(t *target) error {
		got, err = w.crowdAt(ctx, t, tokens, w.podsOf, crowdOf{restart: t.sluice.RestartMain})
		return err
	})
	return got, err
}

// crowdOf is what a target can do; nil for what it cannot.
type crowdOf struct {
	settled func(context.Context) error // releases memory
	restart func() error
}

// crowdAt measures the crowd at a target, before and after a restart if there can be one. The last token is the other
// user's.
func (w *world) crowdAt(ctx context.Context, t *target, tokens []string, path func(int) string, of crowdOf) (*row, error) {
	if err := errors.Join(pin(true, self(), w.apiserver.proc, t.proc), pin(false, t.proc)); err != nil {
		return nil, err
	}
	to, err := abuseTarget(t)
	if err != nil {
		return nil, err
	}
	raw, err := harness.NewRawClient(t.config)
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	other := requests("another user's lists", raw, func(i int) harness.Request {
		return withBearer(tokens[1], path(i%10)+"&resourceVersion=0")
	})
	r := newRow(crowdTable, t.name)
	r.Target, r.Clients = t.name, w.agents
	r.By[quietly] = other.watch(ctx, crowdWindow)
	before, err := settled(ctx, t.proc)
	if err != nil {
		return nil, err
	}
	c := &abuse.Crowd{Agents: w.agents, Token: tokens[0], Path: path, Pause: crowdPause}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	defer func() {
		cancel()
		<-ended
	}()
	go func() { ended <- c.Run(ctx, to) }()
	if r.By[joining], err = w.join(ctx, c, t); err != nil {
		return nil, err
	}
	r.By[attacked] = other.watch(ctx, crowdWindow)
	if of.settled != nil {
		if err := of.settled(ctx); err != nil {
			return nil, err
		}
	}
	now, err := settled(ctx, t.proc)
	if err != nil {
		return nil, err
	}
	r.By[t.name] = &figures{RSS: now, Bytes: float64((now - before) / int64(w.agents))} // of each connection
	w.profileHeap(t)
	if of.restart == nil {
		return r, nil
	}
	if err := of.restart(); err != nil {
		return nil, err
	}
	t.proc = proc(t.sluice.PID())
	if err := pin(false, t.proc); err != nil {
		return nil, err
	}
	during := make(chan *figures, 1)
	go func() { during <- other.watch(ctx, crowdWindow) }()
	r.By[returning], err = w.join(ctx, c, t)
	r.By[afterwards] = <-during
	return r, err
}

// settled returns the least resident memory of a while in which the server has nothing to do: what a crowd needs, and not
// what its coming has left.
func settled(ctx context.Context, server proc) (least int64, err error) {
	for range crowdSettle / time.Second {
		now, err := server.resident()
		if err != nil {
			return 0, err
		}
		if least == 0 || now < least {
			least = now
		}
		if err := sleep(ctx, time.Second); err != nil {
			return 0, err
		}
	}
	return least, nil
}

// join waits until all agents watch.
func (w *world) join(ctx context.Context, c *abuse.Crowd, t *target) (*figures, error) {
	start := time.Now()
	before, err := w.apiserver.proc.cpu()
	if err != nil {
		return nil, err
	}
	f := &figures{}
	for limit := start.Add(crowdLimit); c.Watching() < w.agents && time.Now().Before(limit); {
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	f.Seconds, f.Watches, f.Counts = time.Since(start).Seconds(), c.Watching(), tallyOf(c.Refusals())
	after, err := w.apiserver.proc.cpu()
	if err != nil {
		return nil, err
	}
	f.Upstream = (after - before).Seconds()
	f.Peak, err = t.proc.peak()
	return f, err
}

// profileHeap keeps what the memory of a Sluice with the crowd is, with --profiles.
func (w *world) profileHeap(t *target) {
	if w.profiles == "" || t.sluice == nil {
		return
	}
	for _, kind := range []string{"heap?gc=1", "goroutine?debug=0", "goroutine?debug=1", "heap?debug=1"} {
		if err := w.keepProfile(t.sluice, kind, "crowd-"+kind); err != nil {
			progress("profile: %v", err)
		}
	}
}
