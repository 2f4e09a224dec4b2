package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"sluice/test/harness"
)

const (
	// user is who lists and watches: one that the apiserver's own limits on concurrency do not hold back.
	user = "admin"
	// syncLimit is how long Sluice may take to cache the pods.
	syncLimit = 3 * time.Minute
)

// bed is everything that runs while something is measured.
type bed struct {
	*options
	plane  *harness.ControlPlane
	sluice *harness.Sluice
	floor  *floor

	apiserver, gateway, ground *target
	targets                    []*target // all three, in this order

	names      []string                // paths of the pods that are updated
	sequence   int                     // of the last update of a pod
	others     int                     // updates of what is no pod
	ownWatches int                     // of pods that the apiserver itself has open
	updateCost time.Duration           // CPU of the control plane, once it is known
	once       map[string]*listFigures // of the apiserver, by costly format
	background float64                 // share of a core that the idle control plane uses
}

// newBed starts everything, loads the pods and waits until Sluice caches them. What it returns must be
// closed, even with an error.
func newBed(ctx context.Context, o *options) (b *bed, err error) {
	b = &bed{options: o, once: map[string]*listFigures{}}
	progress("starting the control plane")
	if b.plane, err = harness.StartMain(harness.Options{Dir: o.dir, Flags: planeFlags(o)}); err != nil {
		return b, err
	}
	if err = b.load(ctx); err != nil {
		return b, err
	}
	if b.ownWatches, err = podWatches(ctx, b.plane); err != nil {
		return b, err
	}
	if b.sluice, err = b.plane.StartSluiceMain(harness.SluiceOptions{
		Binary: "sluice", Flags: []string{"--log-level=warn"},
	}); err != nil {
		return b, err
	}
	if b.floor, err = startFloor(); err != nil {
		return b, err
	}
	if err = b.aim(); err != nil {
		return b, err
	}
	return b, b.sync(ctx)
}

// planeFlags are those that the apiserver needs: for the formats, and to have the time for twenty large
// lists at once, which it would cut off after a minute.
func planeFlags(o *options) []string {
	flags := []string{"--request-timeout=" + stateLimit.String()}
	if o.uses("cbor") {
		flags = append(flags, "--feature-gates=CBORServingAndStorage=true")
	}
	return flags
}

// aim makes the targets.
func (b *bed) aim() error {
	plane, err := child("controlplane")
	if err != nil {
		return err
	}
	sluice, err := child("sluice")
	if err != nil {
		return err
	}
	b.apiserver = &target{name: apiserverName, proc: plane, config: b.plane.RESTConfig(user)}
	b.gateway = &target{name: sluiceName, proc: sluice, config: b.sluice.RESTConfig(user)}
	b.ground = &target{name: floorName, proc: b.floor.proc(), config: b.floor.config()}
	b.targets = []*target{b.apiserver, b.gateway, b.ground}
	return nil
}

// sync makes Sluice cache the pods and waits until it does.
func (b *bed) sync(ctx context.Context) error {
	progress("waiting until sluice is in sync")
	limit := time.Now().Add(syncLimit)
	for time.Now().Before(limit) {
		if _, err := b.sluice.Raw(user).Get(ctx, "/api/v1/pods?resourceVersion=0&limit=1", "application/json"); err != nil {
			return err
		}
		report, err := b.sluice.AdminGet("/readyz?verbose")
		if err != nil {
			return err
		}
		if strings.Contains(report, "cache-sync/pods.v1 ok") {
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("sluice is not in sync after %s\n%s", syncLimit, b.sluice.Log())
}

// close ends whatever runs.
func (b *bed) close() {
	var errs []error
	for _, t := range b.targets {
		t.close()
	}
	if b.floor != nil {
		errs = append(errs, b.floor.stop())
	}
	if b.sluice != nil {
		errs = append(errs, b.sluice.Stop(), os.RemoveAll(b.sluice.Dir))
	}
	if b.plane != nil {
		errs = append(errs, b.plane.Stop())
	}
	if err := errors.Join(errs...); err != nil {
		progress("stopping: %v", err)
	}
}

// sleep is time.Sleep that ends with the context.
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
