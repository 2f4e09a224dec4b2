package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/test/harness"
)

// sluiceConfig makes the end short: no balancer has to notice it.
const sluiceConfig = `apiVersion: sluice/v1alpha1
kind: Configuration
shutdown: {grace: 1s}
`

// demo is a control plane, Sluice before it, and the life in them.
type demo struct {
	options options
	dir     *directory
	out     *os.File

	plane  *harness.ControlPlane
	sluice *harness.Sluice
	inStep bool // the line of a step is open
}

// run shows the demo until the context ends or something fails, and stops all of it.
func (d *demo) run(ctx context.Context) error {
	err := d.start(ctx)
	if err == nil {
		err = d.live(ctx)
	}
	if ctx.Err() != nil || errors.Is(err, errOver) {
		err = nil // asked to end: how the parts took it does not matter
	}
	return errors.Join(err, d.stop())
}

// start starts the servers.
func (d *demo) start(ctx context.Context) (err error) {
	done := d.step("Starting etcd, kube-apiserver and its controllers")
	if d.plane, err = harness.StartMain(harness.Options{
		Dir: d.dir.file("controlplane"), Controllers: true, Cancel: ctx.Done(),
	}); err != nil {
		return err
	}
	done()
	done = d.step("Starting Sluice")
	dir := d.dir.file("sluice")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if d.sluice, err = d.plane.StartSluiceMain(harness.SluiceOptions{
		Binary: "sluice", Dir: dir, Config: sluiceConfig,
		Flags: []string{"--listen=" + d.options.listen, "--admin-listen=" + d.options.admin},
	}); err != nil {
		return err
	}
	done()
	return d.writeCredentials()
}

// live fills the cluster and keeps it alive.
func (d *demo) live(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.guard(ctx) })
	g.Go(func() error { return d.play(ctx, g) })
	return g.Wait()
}

// play makes the samples, starts the players in g and shows the counters for as long as the demo
// lasts.
func (d *demo) play(ctx context.Context, g *errgroup.Group) error {
	done := d.step("Making %s pods and what goes with them", number(d.options.pods))
	s := newSamples(d.plane, d.options.pods)
	if err := s.fill(ctx, g); err != nil {
		return fmt.Errorf("samples: %w", err)
	}
	done()
	c := newCluster(d.plane.Client("admin"), s.nodes)
	if err := c.sync(ctx); err != nil {
		return err
	}
	g.Go(func() error { return c.runPods(ctx) })
	g.Go(func() error { return c.restartPods(ctx) })
	g.Go(func() error { return s.runBackups(ctx) })
	if err := d.startCrowd(ctx, g); err != nil {
		return err
	}
	if err := d.printCommands(s); err != nil {
		return err
	}
	return d.showCounters(ctx)
}

// errOver ends the demo when its time is over.
var errOver = errors.New("time is over")

// guard ends the demo when a server ends that should not.
func (d *demo) guard(ctx context.Context) error {
	select {
	case <-d.plane.Done():
		return fmt.Errorf("the control plane ended by itself\n%s", d.plane.Logs())
	case <-d.sluice.Done():
		return fmt.Errorf("the gateway ended by itself\n%s", d.sluice.Log())
	case <-ctx.Done():
		return nil
	}
}

// stop stops what was started, the last first.
func (d *demo) stop() error {
	defer d.step("Stopping everything")()
	var errs []error
	if d.sluice != nil {
		errs = append(errs, d.sluice.Stop())
	}
	if d.plane != nil {
		errs = append(errs, d.plane.Stop())
	}
	return errors.Join(errs...)
}

// step says what begins, and with the function it returns how long it took. A step that fails is
// never done.
func (d *demo) step(format string, args ...any) (done func()) {
	if d.inStep {
		fmt.Fprintln(d.out)
	}
	d.inStep = true
	fmt.Fprintf(d.out, format+" ... ", args...)
	begin := time.Now()
	return func() {
		d.inStep = false
		fmt.Fprintf(d.out, "%.1fs\n", time.Since(begin).Seconds())
	}
}
