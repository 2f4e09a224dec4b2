package main

import (
	"context"
	"errors"
	"fmt"
	"os"
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
func (e *env) crowds(ctx context.Context, r *report) error {
	var tokens []string
	for name, measure := range map[string]func(context.Context, []string) (*crowdLine, error){
		floorName: e.crowdAtFloor, apiserverName: e.crowdAtApiserver, sluiceName: e.crowdAtSluice,
	} {
		if !e.only.matches("crowd " + name) {
			continue
		}
		progress("%d agents at the %s", e.agents, name)
		if tokens == nil {
			var err error
			if tokens, err = e.serviceAccounts(ctx, 2); err != nil {
				return err
			}
		}
		line, err := measure(ctx, tokens)
		if err != nil {
			return fmt.Errorf("crowd at the %s: %w", name, err)
		}
		r.Crowds = append(r.Crowds, line)
	}
	return nil
}

// podsOf returns the path of the pods of an agent's node. There are more agents than nodes with pods.
func (e *env) podsOf(agent int) string {
	node := fmt.Sprintf("agent-node-%d", agent)
	if agent < len(e.nodes) {
		node = e.nodes[agent]
	}
	return "/api/v1/pods?fieldSelector=spec.nodeName%3D" + node
}

func (e *env) crowdAtFloor(ctx context.Context, tokens []string) (*crowdLine, error) {
	f, err := startFloor("GOGC=50") // as Sluice with many connections
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := f.stop(); err != nil {
			progress("stop: %v", err)
		}
	}()
	list := &harness.Response{Body: []byte(`{"metadata":{"resourceVersion":"1"}}`)}
	if err := f.put(ctx, crowdPath, list); err != nil {
		return nil, err
	}
	t := &target{name: floorName, proc: f.proc(), config: f.config()}
	return e.crowdAt(ctx, t, tokens, func(int) string { return crowdPath + "?" }, crowdOf{settled: f.release})
}

func (e *env) crowdAtApiserver(ctx context.Context, tokens []string) (*crowdLine, error) {
	t := &target{name: apiserverName, proc: e.apiserver.proc, config: e.controlPlane.RESTConfig(harness.Anonymous)}
	return e.crowdAt(ctx, t, tokens, e.podsOf, crowdOf{})
}

func (e *env) crowdAtSluice(ctx context.Context, tokens []string) (line *crowdLine, err error) {
	err = e.withSluice(ctx, harness.SluiceOptions{}, func(t *target) error {
		line, err = e.crowdAt(ctx, t, tokens, e.podsOf, crowdOf{restart: t.sluice.RestartMain})
		return err
	})
	return line, err
}

// crowdOf is what a target can do; nil for what it cannot.
type crowdOf struct {
	settled func(context.Context) error // releases memory
	restart func() error
}

// crowdAt measures the crowd at a target, before and after a restart if there can be one. The last token is the other
// user's.
func (e *env) crowdAt(ctx context.Context, t *target, tokens []string, path func(int) string, of crowdOf) (*crowdLine, error) {
	if err := errors.Join(pin(true, self(), e.apiserver.proc, t.proc), pin(false, t.proc)); err != nil {
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
	line := &crowdLine{Target: t.name, Agents: e.agents, Quiet: other.watch(ctx, crowdWindow)}
	before, err := settled(ctx, t.proc)
	if err != nil {
		return nil, err
	}
	c := &abuse.Crowd{Agents: e.agents, Token: tokens[0], Path: path, Pause: crowdPause}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	defer func() {
		cancel()
		<-ended
	}()
	go func() { ended <- c.Run(ctx, to) }()
	if line.Joined, err = e.join(ctx, c, t); err != nil {
		return nil, err
	}
	line.With = other.watch(ctx, crowdWindow)
	if of.settled != nil {
		if err := of.settled(ctx); err != nil {
			return nil, err
		}
	}
	if line.RSS, err = settled(ctx, t.proc); err != nil {
		return nil, err
	}
	line.PerConnection = (line.RSS - before) / int64(e.agents)
	e.profileHeap(t)
	if of.restart == nil {
		return line, nil
	}
	if err := of.restart(); err != nil {
		return nil, err
	}
	t.proc = proc(t.sluice.PID())
	if err := pin(false, t.proc); err != nil {
		return nil, err
	}
	during := make(chan *victimFigures, 1)
	go func() { during <- other.watch(ctx, crowdWindow) }()
	line.Back, err = e.join(ctx, c, t)
	line.Returning = <-during
	return line, err
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
func (e *env) join(ctx context.Context, c *abuse.Crowd, t *target) (*crowdFigures, error) {
	start := time.Now()
	before, err := e.apiserver.proc.cpu()
	if err != nil {
		return nil, err
	}
	f := &crowdFigures{Refused: abuse.Tally{}}
	for limit := start.Add(crowdLimit); c.Watching() < e.agents && time.Now().Before(limit); {
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	f.Seconds, f.Watching, f.Refused = time.Since(start).Seconds(), c.Watching(), c.Refusals()
	after, err := e.apiserver.proc.cpu()
	if err != nil {
		return nil, err
	}
	f.UpstreamCPU = (after - before).Seconds()
	f.Peak, err = t.proc.peak()
	return f, err
}

// profileHeap keeps what the memory of a Sluice with the crowd is, with --profiles.
func (e *env) profileHeap(t *target) {
	if e.profiles == "" || t.sluice == nil {
		return
	}
	for _, kind := range []string{"heap?gc=1", "goroutine?debug=0", "goroutine?debug=1", "heap?debug=1"} {
		text, err := t.sluice.AdminGet("/debug/pprof/" + kind)
		if err == nil {
			err = os.MkdirAll(e.profiles, 0o755)
		}
		if err == nil {
			err = os.WriteFile(e.profiles+"/crowd-"+kind, []byte(text), 0o644)
		}
		if err != nil {
			progress("profile: %v", err)
		}
	}
}
