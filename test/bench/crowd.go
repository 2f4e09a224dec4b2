package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/test/abuse"
	"sluice/test/harness"
)

const (
	crowdPath = "/crowd" // of the floor
	// limitedName is a Sluice in a cgroup of --memory.
	limitedName = "limited " + sluiceName
	// crowdLimit is how long agents may take until all are there, and crowdPause the least time until one that has lost
	// its connection comes again.
	crowdLimit = 3 * time.Minute
	crowdPause = 500 * time.Millisecond
	// crowdWindow is how long each measurement of the other user lasts.
	crowdWindow = 30 * time.Second
	// crowdSettle is how long a server has to return memory that it does not use.
	crowdSettle = 100 * time.Second
)

// crowds measures the crowd at the floor, the apiserver, a new Sluice, and one whose memory is limited.
func (w *world) crowds(ctx context.Context, r *report) {
	selected := func(name string) bool { return w.only.matches("crowd " + name) }
	if !slices.ContainsFunc([]string{floorName, apiserverName, sluiceName, limitedName}, selected) {
		return
	}
	tokens := w.podReaders(ctx, 2)
	// Each pod of a DaemonSet has a token of its own, whose reviews it shares with nobody.
	tokens = append(w.tokens(ctx, accountsNamespace, accountName(0), w.agents), tokens[1])
	if selected(floorName) {
		f := startFloor(nil, "GOGC=50") // as Sluice with many connections
		defer func() { stopped(f.stop()) }()
		f.put(ctx, crowdPath, &harness.Response{Body: []byte(`{"metadata":{"resourceVersion":"1"}}`)})
		r.add(w.crowdAt(ctx, f.target(), floorName, tokens, func(int) string { return crowdPath + "?" }, f.release))
	}
	if selected(apiserverName) {
		r.add(w.crowdAt(ctx, w.direct(harness.Anonymous), apiserverName, tokens, w.podsOf, nil))
	}
	for _, name := range []string{sluiceName, limitedName} {
		if !selected(name) {
			continue
		}
		o := harness.SluiceOptions{}
		if name == limitedName {
			o.Memory = w.memory
		}
		w.withCachedPods(ctx, o, func(t *target) { r.add(w.crowdAt(ctx, t, name, tokens, w.podsOf, nil)) })
	}
}

// podsOf returns the path of the pods of an agent's node. There are more agents than nodes with pods.
func (w *world) podsOf(agent int) string {
	node := fmt.Sprintf("agent-node-%d", agent)
	if agent < len(w.nodes) {
		node = w.nodes[agent]
	}
	return "/api/v1/pods?fieldSelector=spec.nodeName%3D" + node
}

// crowdAt measures the crowd at a target of a name, before and after a restart if it is a Sluice. The last token is the other
// user's. The target releases memory by a function, unless it is nil.
func (w *world) crowdAt(
	ctx context.Context, t *target, name string, tokens []string, path func(int) string, release func(context.Context),
) *row {
	progress("%d agents at the %s", w.agents, name)
	w.isolate(t)
	raw := must(harness.NewRawClient(t.config))
	defer raw.Close()
	agents, others := tokens[:len(tokens)-1], tokens[len(tokens)-1]
	other := requests("another user's lists", raw, func(i int) harness.Request {
		return withBearer(others, path(i%10)+"&resourceVersion=0")
	})
	r := newRow(crowdTable, name)
	r.Target, r.Clients = t.name, w.agents
	for i := range w.nodes { // what is encoded for the agents, once for all, is no memory of each
		must(raw.Do(ctx, withBearer(others, path(i)+"&resourceVersion=0")))
	}
	r.By[quietly] = other.watch(ctx, crowdWindow)
	before := settled(ctx, t.proc)
	c := &abuse.Crowd{Agents: w.agents, Tokens: agents, Path: path, Pause: crowdPause}
	to := abuseTarget(t)
	var coming sync.WaitGroup
	defer coming.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	coming.Go(func() { _ = c.Run(ctx, to) }) // the agents that do not watch are counted
	r.By[joining] = w.join(ctx, c, t)
	r.By[attacked] = other.watch(ctx, crowdWindow)
	if release != nil {
		release(ctx)
	}
	now := settled(ctx, t.proc)
	r.By[t.name] = &figures{RSS: now, Bytes: float64((now - before) / int64(w.agents))} // of each connection
	if t.sluice == nil {
		return r
	}
	t.restart()
	pin(false, t.proc)
	during := make(chan *figures, 1)
	go func() { during <- other.watch(ctx, crowdWindow) }()
	r.By[returning] = w.join(ctx, c, t)
	r.By[afterwards] = <-during
	return r
}

// settled returns the least resident memory of a while in which the server has nothing to do: what a crowd needs, and not
// what its coming has left.
func settled(ctx context.Context, server proc) int64 {
	least := server.resident()
	for range crowdSettle / time.Second {
		least = min(least, server.resident())
		sleep(ctx, time.Second)
	}
	return least
}

// join waits until all agents watch.
func (w *world) join(ctx context.Context, c *abuse.Crowd, t *target) *figures {
	start, before := time.Now(), w.apiserver.proc.cpu()
	poll(ctx, 20*time.Millisecond, crowdLimit, func() bool { return c.Watching() >= w.agents })
	return &figures{
		Seconds: time.Since(start).Seconds(), Watches: c.Watching(), Counts: tallyOf(c.Refusals()),
		Upstream: (w.apiserver.proc.cpu() - before).Seconds(), Peak: t.proc.peak(),
	}
}
