package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// scenario is one case: an operation at each target in turn, round by round, which becomes a row.
type scenario struct {
	table, name string
	verb        string // of the requests in Sluice's metrics
	load        load   // beside the operation
	clients     int
	rounds      int // at most
	// world prepares the servers, and returns the targets.
	world func(context.Context, *world, *row) []*target
	// op is one round at one target.
	op func(context.Context, *world, *scenario, *target) *sample
	// enough ends the rounds early; nil means never.
	enough func(samples) bool
	// figures makes the figures of a target from its rounds.
	figures func(target string, rounds []*sample) *figures
}

// load is updates beside an operation.
type load struct {
	rate int  // per second
	pods bool // of pods; otherwise of namespaces, so that the current resource version rises without the pods
}

// sample is what one round at one target has measured.
type sample struct {
	*usage
	walls    []time.Duration // of reads, or delays of events
	requests int
	bytes    int64 // of all responses, or of all events
	coding   string
	wall     time.Duration // of the round
	plane    time.Duration // CPU of the control plane without the updates of the load
	counted                // at a Sluice
}

// samples are the samples of the rounds by target.
type samples map[string][]*sample

// run measures a scenario.
func (w *world) run(ctx context.Context, s *scenario) *row {
	progress("%s", s.name)
	r := newRow(s.table, s.name)
	r.Clients = s.clients
	targets := s.world(ctx, w, r)
	all := samples{}
	for round := range s.rounds {
		if round > 0 && s.enough != nil && s.enough(all) {
			break
		}
		for i := range targets {
			t := targets[(i+round)%len(targets)]
			if err := try(func() { all[t.name] = append(all[t.name], s.op(ctx, w, s, t)) }); err != nil {
				check(fmt.Errorf("%s: %w", t.name, err))
			}
		}
	}
	for target, rounds := range all {
		r.By[target] = s.figures(target, rounds)
		if target == sluiceName {
			sources, _ := counts(rounds)
			r.Source = sources.String()
		}
	}
	return r
}

// runAll measures scenarios one after the other.
func (w *world) runAll(ctx context.Context, r *report, all []*scenario) {
	for _, s := range all {
		if err := try(func() { r.add(w.run(ctx, s)) }); err != nil {
			check(fmt.Errorf("%s: %w", s.name, err))
		}
	}
}

// costFigures makes the figures of a target from the CPU of each request or event. A Sluice that proves causes CPU at the
// control plane.
func costFigures(target string, rounds []*sample, proves bool) *figures {
	f := &figures{}
	var cpu, client []float64
	for _, s := range rounds {
		n := float64(len(s.walls))
		cpu, client = append(cpu, s.cost(target, proves).Seconds()/n), append(client, s.client.Seconds()/n)
		f.Bytes, f.Coding, f.Peak = f.Bytes+float64(s.bytes), s.coding, max(f.Peak, s.peak[target])
	}
	f.CPU, f.CPUSpread = median(cpu)
	f.Client, _ = median(client)
	f.timed(wallsOf(rounds))
	f.Bytes /= float64(len(f.walls))
	return f
}

// cost returns the CPU of a target with what it causes at the control plane.
func (s *sample) cost(target string, proves bool) time.Duration {
	switch {
	case target == apiserverName:
		return s.plane
	case target == sluiceName && (proves || s.sources.passed()):
		return s.cpu[target] + s.plane
	}
	return s.cpu[target]
}

// counts returns the sources and the proofs of all rounds.
func counts(all []*sample) (sources, proofs tally) {
	sources, proofs = tally{}, tally{}
	for _, s := range all {
		sources.add(s.sources)
		proofs.add(s.proofs)
	}
	return sources, proofs
}

// wallsOf returns the durations of the reads of all rounds.
func wallsOf(rounds []*sample) (walls []time.Duration) {
	for _, s := range rounds {
		walls = append(walls, s.walls...)
	}
	return walls
}

// selected returns the scenarios that --only selects.
func (o *options) selected(all []*scenario) []*scenario {
	return slices.DeleteFunc(all, func(s *scenario) bool { return !o.only.MatchString(s.name) })
}
