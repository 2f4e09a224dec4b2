package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sluice/test/abuse"
	"sluice/test/harness"
)

const (
	// limitedName is a Sluice in a cgroup of limitedMemory.
	limitedName = "limited " + sluiceName
	// crowdLimit is how long agents may take until all are there, and crowdPause the least time until one that has lost
	// its connection comes again.
	crowdLimit = 3 * time.Minute
	crowdPause = 500 * time.Millisecond
	// crowdWindow is how long the measurement of the other user lasts.
	crowdWindow = 30 * time.Second
	// crowdSettle is how long a server has to return memory that it does not use.
	crowdSettle = 100 * time.Second
)

// crowds measures the crowd at a new Sluice, and at one whose memory is limited.
func (w *world) crowds(ctx context.Context, r *report) {
	var tokens []string
	for _, name := range []string{sluiceName, limitedName} {
		if !w.only.MatchString("crowd " + name) {
			continue
		}
		o := harness.SluiceOptions{}
		if name == limitedName {
			o.Memory = limitedMemory
		}
		if tokens == nil {
			accounts := w.podReaders(ctx, 2)
			// Each pod of a DaemonSet has a token of its own, whose reviews it shares with nobody.
			tokens = append(w.tokens(ctx, w.agents, func(ctx context.Context, _ int) string {
				return w.token(ctx, accountsNamespace, accountName(0))
			}), accounts[1])
		}
		w.withCachedPods(ctx, o, func(t *target) { r.add(w.crowdAt(ctx, t, name, tokens)) })
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

// crowdAt measures the crowd at a Sluice of a name, before and after a restart. The last token is the other user's.
func (w *world) crowdAt(ctx context.Context, t *target, name string, tokens []string) *row {
	progress("%d agents at the %s", w.agents, name)
	w.isolate(t)
	raw := must(harness.NewRawClient(t.config))
	defer raw.Close()
	agents, others := tokens[:len(tokens)-1], tokens[len(tokens)-1]
	list := func(i int) harness.Request { return withBearer(others, w.podsOf(i)+"&resourceVersion=0") }
	for i := range w.nodes { // what is encoded for the agents, once for all, is no memory of each
		status(ctx, raw, list(i))
	}
	before := settled(ctx, t.proc)
	c := &abuse.Crowd{Agents: w.agents, Tokens: agents, Path: w.podsOf, Pause: crowdPause}
	defer startCrowd(ctx, c, t)()
	r := newRow(crowdTable, name)
	r.Target, r.Clients = t.name, w.agents
	r.By[joining] = w.join(ctx, c, t)
	other := requests("another user's lists", raw, func(i int) harness.Request { return list(i % 10) })
	r.By[attacked] = other.watch(ctx, crowdWindow)
	now := settled(ctx, t.proc)
	r.By[t.name] = &figures{RSS: now, Bytes: float64((now - before) / int64(w.agents))} // of each connection
	check(t.sluice.RestartMain())
	t.proc = proc(t.sluice.PID())
	pin(false, t.proc)
	r.By[returning] = w.join(ctx, c, t)
	return r
}

// startCrowd runs a crowd at a target until the returned function is called.
func startCrowd(ctx context.Context, c *abuse.Crowd, t *target) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	to := abuseTarget(t)
	var coming sync.WaitGroup
	coming.Go(func() { _ = c.Run(ctx, to) }) // the agents that do not watch are counted
	return func() {
		cancel()
		coming.Wait()
	}
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
	poll(ctx, 20*time.Millisecond, crowdLimit, func() bool { return c.Watching() >= c.Agents })
	return &figures{
		Seconds: time.Since(start).Seconds(), Watches: c.Watching(), Counts: tally(c.Refusals()),
		Upstream: (w.apiserver.proc.cpu() - before).Seconds(), Peak: t.proc.peak(),
	}
}
