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
func (w *world) crowds(ctx context.Context, r *report) (err error) {
	defer fails(&err)
	var tokens []string
	for _, at := range []struct {
		name    string
		measure func(context.Context, []string) (*row, error)
	}{
		{floorName, w.crowdAtFloor},
		{apiserverName, func(ctx context.Context, tokens []string) (*row, error) {
			return w.crowdAt(ctx, w.direct(harness.Anonymous), tokens, w.podsOf, crowdOf{})
		}},
		{sluiceName, func(ctx context.Context, tokens []string) (r *row, err error) {
			err = w.withCachedPods(ctx, harness.SluiceOptions{}, func(t *target) error {
				r, err = w.crowdAt(ctx, t, tokens, w.podsOf, crowdOf{restart: t.sluice.RestartMain})
				return err
			})
			return r, err
		}},
	} {
		if !w.only.matches("crowd " + at.name) {
			continue
		}
		progress("%d agents at the %s", w.agents, at.name)
		if tokens == nil {
			tokens = must(w.podReaders(ctx, 2))
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

// crowdOf is what a target can do; nil for what it cannot.
type crowdOf struct {
	settled func(context.Context) error // releases memory
	restart func() error
}

// crowdAt measures the crowd at a target, before and after a restart if there can be one. The last token is the other
// user's.
func (w *world) crowdAt(ctx context.Context, t *target, tokens []string, path func(int) string, of crowdOf) (_ *row, err error) {
	defer fails(&err)
	check(errors.Join(pin(true, self(), w.apiserver.proc, t.proc), pin(false, t.proc)))
	to := must(abuseTarget(t))
	raw := must(harness.NewRawClient(t.config))
	defer raw.Close()
	other := requests("another user's lists", raw, func(i int) harness.Request {
		return withBearer(tokens[1], path(i%10)+"&resourceVersion=0")
	})
	r := newRow(crowdTable, t.name)
	r.Target, r.Clients = t.name, w.agents
	r.By[quietly] = other.watch(ctx, crowdWindow)
	before := must(settled(ctx, t.proc))
	c := &abuse.Crowd{Agents: w.agents, Token: tokens[0], Path: path, Pause: crowdPause}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	defer func() {
		cancel()
		<-ended
	}()
	go func() { ended <- c.Run(ctx, to) }()
	r.By[joining] = must(w.join(ctx, c, t))
	r.By[attacked] = other.watch(ctx, crowdWindow)
	if of.settled != nil {
		check(of.settled(ctx))
	}
	now := must(settled(ctx, t.proc))
	r.By[t.name] = &figures{RSS: now, Bytes: float64((now - before) / int64(w.agents))} // of each connection
	w.profileHeap(t)
	if of.restart == nil {
		return r, nil
	}
	check(of.restart())
	t.proc = proc(t.sluice.PID())
	check(pin(false, t.proc))
	during := make(chan *figures, 1)
	go func() { during <- other.watch(ctx, crowdWindow) }()
	r.By[returning], err = w.join(ctx, c, t)
	r.By[afterwards] = <-during
	return r, err
}

// settled returns the least resident memory of a while in which the server has nothing to do: what a crowd needs, and not
// what its coming has left.
func settled(ctx context.Context, server proc) (least int64, err error) {
	defer fails(&err)
	for range crowdSettle / time.Second {
		now := must(server.resident())
		if least == 0 || now < least {
			least = now
		}
		check(sleep(ctx, time.Second))
	}
	return least, nil
}

// join waits until all agents watch.
func (w *world) join(ctx context.Context, c *abuse.Crowd, t *target) (_ *figures, err error) {
	defer fails(&err)
	start := time.Now()
	before := must(w.apiserver.proc.cpu())
	f := &figures{}
	poll(ctx, 20*time.Millisecond, crowdLimit, func() bool { return c.Watching() >= w.agents })
	check(ctx.Err())
	f.Seconds, f.Watches, f.Counts = time.Since(start).Seconds(), c.Watching(), tallyOf(c.Refusals())
	after := must(w.apiserver.proc.cpu())
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
