package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sluice/test/harness"
)

const (
	// user is the client of all requests: a member of system:masters, which API priority and
	// fairness exempts.
	user = "admin"
	// syncLimit is how long Sluice may take to cache the pods.
	syncLimit = 3 * time.Minute
	// compressedWatches is configuration that compresses the watches of the clients that accept it.
	compressedWatches = "apiVersion: sluice/v1alpha1\nkind: Configuration\ncompression: {watches: true}\n"
)

// env is the environment of a run: the servers, the targets and shared measurements.
type env struct {
	*options
	controlPlane *harness.ControlPlane
	sluice       *harness.Sluice
	upper        *harness.Sluice // in front of sluice; nil until the proofs
	floor        *floor

	apiserver, sluiceTarget, floorTarget *target
	targets                              []*target // all three, in this order
	twoTiers                             *target   // nil until the proofs

	onNode     map[string]int          // number of pods by node
	nodes      []string                // sorted keys of onNode
	names      []string                // paths of the pods
	sequence   int                     // number of updates of pods
	others     int                     // number of updates of other objects
	ownWatches int                     // number of the apiserver's own watches of pods
	updateCost time.Duration           // CPU of the control plane per update; zero if not yet measured
	once       map[string]*listFigures // the apiserver's figures, by costly format
	background float64                 // CPU of the idle control plane, as a share of a core

	// proofUpdateCost is the CPU of the control plane per update in quiet and busy cases of proofs.
	proofUpdateCost map[bool]time.Duration
	apiserverCPU    map[string]float64 // per read, by case without readers
}

// newEnv starts the servers, creates the pods and waits until Sluice caches them. The caller must
// close the env even if there is an error.
func newEnv(ctx context.Context, o *options) (e *env, err error) {
	e = &env{
		options: o, once: map[string]*listFigures{},
		proofUpdateCost: map[bool]time.Duration{}, apiserverCPU: map[string]float64{},
	}
	progress("starting the control plane")
	if e.controlPlane, err = harness.StartMain(harness.Options{Dir: o.dir, Flags: apiserverFlags(o)}); err != nil {
		return e, err
	}
	if err = e.load(ctx); err != nil {
		return e, err
	}
	if e.ownWatches, err = podWatches(ctx, e.controlPlane); err != nil {
		return e, err
	}
	if e.sluice, err = e.controlPlane.StartSluiceMain(harness.SluiceOptions{
		Binary: "sluice", Config: compressedWatches, Flags: []string{"--log-level=warn"},
	}); err != nil {
		return e, err
	}
	if e.floor, err = startFloor(); err != nil {
		return e, err
	}
	e.setTargets()
	return e, e.waitForCacheSync(ctx, e.sluice)
}

// apiserverFlags enable the formats, and raise the request timeout of one minute, in which the
// apiserver cannot write twenty large lists at once.
func apiserverFlags(o *options) []string {
	flags := []string{"--request-timeout=" + responseLimit.String()}
	if o.uses("cbor") {
		flags = append(flags, "--feature-gates=CBORServingAndStorage=true")
	}
	return flags
}

func (e *env) setTargets() {
	e.apiserver = &target{name: apiserverName, proc: proc(e.controlPlane.PID()), config: e.controlPlane.RESTConfig(user)}
	e.sluiceTarget = &target{name: sluiceName, proc: proc(e.sluice.PID()), config: e.sluice.RESTConfig(user), sluice: e.sluice}
	e.floorTarget = &target{name: floorName, proc: e.floor.proc(), config: e.floor.config()}
	e.targets = []*target{e.apiserver, e.sluiceTarget, e.floorTarget}
}

// waitForCacheSync makes a Sluice cache the pods and waits until its cache is in sync.
func (e *env) waitForCacheSync(ctx context.Context, s *harness.Sluice) error {
	progress("waiting until the cache of pods is in sync")
	limit := time.Now().Add(syncLimit)
	for time.Now().Before(limit) {
		if s.CacheSynced(ctx, "/api/v1/pods", "pods.v1") == nil {
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("sluice is not in sync after %s\n%s", syncLimit, s.Log())
}

// close stops the servers.
func (e *env) close() {
	var errs []error
	for _, t := range e.targets {
		t.close()
	}
	if e.twoTiers != nil {
		e.twoTiers.close()
	}
	if e.upper != nil {
		errs = append(errs, e.upper.Stop(), os.RemoveAll(e.upper.Dir))
	}
	if e.floor != nil {
		errs = append(errs, e.floor.stop())
	}
	if e.sluice != nil {
		errs = append(errs, e.sluice.Stop(), os.RemoveAll(e.sluice.Dir))
	}
	if e.controlPlane != nil {
		errs = append(errs, e.controlPlane.Stop())
	}
	if err := errors.Join(errs...); err != nil {
		progress("stop: %v", err)
	}
}

// sleep sleeps for d or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
