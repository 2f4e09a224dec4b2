package consistency

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/consistency/history"
)

// trial is one run: loads on resources, and what is done meanwhile.
type trial struct {
	name  string
	seed  uint64
	loads []load
	// front is put before Sluice; nil for nothing.
	front func(t *testing.T, g *gateway) *rest.Config
	// during is what happens while all are at work.
	during func(t *testing.T, p *play)
}

// play is a trial under way.
type play struct {
	trial
	gateway *gateway
	clock   history.Clock
	casts   []*cast
}

// note records what happens to all resources.
func (p *play) note(text string) {
	for _, c := range p.casts {
		c.recorder.note(text)
	}
}

// result is what became of one resource.
type result struct {
	*cast
	violations []history.Violation
}

// run plays the trial and judges it.
func (tr trial) run(t *testing.T) []result {
	t.Helper()
	makeNamespaces(t, tr.name)
	p := &play{trial: tr, gateway: startGateway(t)}
	config := p.asked(t)
	for _, l := range tr.loads {
		if l.custom() {
			l.define(t)
		}
		p.casts = append(p.casts, l.engage(t, tr.name, tr.seed, &p.clock, sluiceName, config))
	}
	p.perform(t)
	var results []result
	for _, c := range p.casts {
		h := &c.recorder.history
		h.Log = c.truth.taken()
		results = append(results, result{c, history.Check(h)})
	}
	return results
}

// asked is who is asked.
func (p *play) asked(t *testing.T) *rest.Config {
	switch {
	case p.front != nil:
		return p.front(t, p.gateway)
	case *direct:
		return plane.RESTConfig("admin")
	}
	return p.gateway.RESTConfig("admin")
}

// perform lets all do their work, and ends it so that nothing is left undone.
func (p *play) perform(t *testing.T) {
	t.Helper()
	truths := p.start(t, func(c *cast, start func(func(context.Context) error)) { start(c.truth.run) })
	for _, c := range p.casts {
		<-c.truth.started
		c.populate(t, p.name)
		p.gateway.WaitForCacheSync(t, c.path("", ""), c.report())
	}
	watchers := p.start(t, func(c *cast, start func(func(context.Context) error)) {
		for _, w := range c.watchers {
			start(func(ctx context.Context) error { w.run(ctx); return nil })
		}
	})
	readers := p.start(t, func(c *cast, start func(func(context.Context) error)) {
		for _, r := range c.readers {
			start(func(ctx context.Context) error { r.run(ctx); return nil })
		}
	})
	writers := p.start(t, func(c *cast, start func(func(context.Context) error)) {
		for _, w := range c.writers {
			start(func(ctx context.Context) error { w.run(ctx); return nil })
		}
	})
	p.during(t, p)
	writers.stop(t)
	readers.stop(t)
	for _, c := range p.casts {
		c.last(t)
		c.catchUp(t)
	}
	watchers.stop(t)
	truths.stop(t)
}

// group are goroutines that end together.
type group struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex // guards errs
	errs []error
}

// start starts what each chooses to start for each cast.
func (p *play) start(t *testing.T, choose func(c *cast, start func(func(context.Context) error))) *group {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	g := &group{cancel: cancel}
	t.Cleanup(func() { g.cancel(); g.wg.Wait() })
	for _, c := range p.casts {
		choose(c, func(run func(context.Context) error) {
			g.wg.Go(func() { g.add(run(ctx)) })
		})
	}
	return g
}

func (g *group) add(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.errs = append(g.errs, err)
}

// stop ends the goroutines, waits for them, and fails the test with their
// errors.
func (g *group) stop(t *testing.T) {
	t.Helper()
	g.cancel()
	g.wg.Wait()
	if err := errors.Join(g.errs...); err != nil {
		t.Fatal(err)
	}
}

// catchUpLimit is how long watchers may take for what was written last. A
// watcher whose connection was lost unnoticed only comes back when its time is
// over.
const catchUpLimit = (longestLife+5)*time.Second + overtime

// catchUp waits until the watchers have been told everything. Those who have
// not within the limit are found by the check.
func (c *cast) catchUp(t *testing.T) {
	t.Helper()
	log := c.truth.taken()
	ctx, cancel := context.WithTimeout(t.Context(), catchUpLimit)
	defer cancel()
	for _, w := range c.watchers {
		events, err := log.In(w.scope)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			continue
		}
		until := events[len(events)-1].Version
		w.until.Store(until)
		for w.last.Load() < until && ctx.Err() == nil {
			wait(ctx, 10*time.Millisecond)
		}
		if last := w.last.Load(); last < until {
			t.Logf("%s of %s is at %d after %s, not at %d", w.name, c.plural, last, catchUpLimit, until)
		}
	}
}

// recoveryLimit is how long it may take after the last fault until all is well.
const recoveryLimit = time.Minute

// recovered waits until every resource is served out of the cache again, and
// reads are answered. It does not end the test if that fails: why that is may
// show in what was told.
func (p *play) recovered(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recoveryLimit)
	defer cancel()
	for _, c := range p.casts {
		synced := func() error { return p.gateway.CacheSynced(ctx, c.path("", ""), c.report()) }
		goal := c.recorder.answers() + 2*len(c.readers)
		answered := func() error {
			if have := c.recorder.answers(); have < goal {
				return fmt.Errorf("%d reads are answered instead of %d", have, goal)
			}
			return nil
		}
		for _, condition := range []func() error{synced, answered} {
			if err := until(ctx, condition); err != nil {
				t.Errorf("%s has not recovered within %s: %v", c.plural, recoveryLimit, err)
			}
		}
	}
}

// until asks again and again until there is no error. It returns the last one
// if the context ends before.
func until(ctx context.Context, condition func() error) error {
	for {
		err := condition()
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait(ctx, 20*time.Millisecond)
	}
}
