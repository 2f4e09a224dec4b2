package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/test/harness"
)

// proofs measures consistent reads at every size. It begins with the largest size, so that later
// sizes only delete pods.
func (e *env) proofs(ctx context.Context, r *report) error {
	sizes := slices.Sorted(slices.Values(e.sizes))
	all, start := 0, time.Now()
	for _, size := range sizes {
		all += len(proofCases(e.options, size))
	}
	for _, size := range slices.Backward(sizes) {
		cases := proofCases(e.options, size)
		if len(cases) == 0 {
			continue
		}
		if err := e.prepareProofs(ctx, size); err != nil {
			return err
		}
		for _, c := range cases {
			progress("%d of %d, after %s: %s", len(r.Proofs)+1, all, time.Since(start).Round(time.Second), c.name())
			line, err := e.proof(ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name(), err)
			}
			r.Proofs = append(r.Proofs, line)
		}
	}
	return nil
}

// prepareProofs starts the second tier, once per run, brings the pods to a size and measures the
// CPU of updates at that size.
func (e *env) prepareProofs(ctx context.Context, size int) error {
	if e.upper == nil {
		if err := e.startUpper(); err != nil {
			return err
		}
	}
	e.pods = size
	if err := e.load(ctx); err != nil {
		return err
	}
	if err := e.waitForCacheSync(ctx, e.upper); err != nil {
		return err
	}
	for _, busy := range []bool{false, true} {
		used, err := e.updatesAlone(ctx, e.updateOf(busy))
		if err != nil {
			return err
		}
		e.proofUpdateCost[busy] = used / time.Duration(e.updates)
	}
	return nil
}

// startUpper starts a Sluice whose upstream is the first one.
func (e *env) startUpper() (err error) {
	e.upper, err = e.controlPlane.StartSluiceMain(harness.SluiceOptions{
		Binary: "sluice", Flags: []string{"--log-level=warn"}, Upstream: e.sluice,
	})
	if err == nil {
		e.twoTiers = &target{
			name: twoTiersName, proc: proc(e.upper.PID()), config: e.upper.RESTConfig(user), sluice: e.upper,
		}
	}
	return err
}

func (e *env) updateOf(busy bool) func(context.Context) error {
	if busy {
		return e.update
	}
	return e.updateOther
}

// proof runs a case against the apiserver and both tiers in alternating rounds. A target that fails
// gets a note instead of figures.
func (e *env) proof(ctx context.Context, c proofCase) (*proofLine, error) {
	line := newProofLine(c)
	targets := e.proofTargets(c, line)
	for round := 0; round < e.rounds && !line.enough(); round++ {
		for i := range targets {
			t := targets[(i+round)%len(targets)]
			if line.failed[t.name] {
				continue
			}
			got, err := e.proofBatch(ctx, c, t, round == 0)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				progress("%s: %s: %v", c.name(), t.name, err)
				line.fail(t.name, err)
			default:
				line.add(t.name, got)
			}
		}
	}
	line.summarize()
	e.keepApiserverCPU(c, line)
	return line, e.profile(ctx, c.name(), func(ctx context.Context) error {
		_, err := e.readRepeatedly(ctx, c, e.sluiceTarget, profileTime)
		return err
	})
}

// proofTargets returns the targets of a case. It leaves the apiserver out if the lists would take
// too much of its memory; the line then has its CPU per read with fewer readers, which is about the
// same.
func (e *env) proofTargets(c proofCase, line *proofLine) []*target {
	sluices := []*target{e.sluiceTarget, e.twoTiers}
	needs := formatOf("protobuf").apiserverMemory * int64(c.selected(e, 0)) * int64(c.readers)
	if c.streaming || c.paged || needs <= memoryLimit {
		return append([]*target{e.apiserver}, sluices...)
	}
	line.Note = fmt.Sprintf("apiserver skipped: needs %d GB", needs>>30)
	if cpu, measured := e.apiserverCPU[c.prefix()+c.suffix()]; measured {
		line.Note += "; its CPU is per read of fewer readers"
		line.By[apiserverName] = &proofFigures{CPU: cpu}
	}
	return sluices
}

func (e *env) keepApiserverCPU(c proofCase, line *proofLine) {
	if f := line.By[apiserverName]; f != nil && f.Reads > 0 {
		e.apiserverCPU[c.prefix()+c.suffix()] = f.CPU
	}
}
