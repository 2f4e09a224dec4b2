package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/test/harness"
)

// sluiceConfig shortens the shutdown: no load balancer has to notice it.
const sluiceConfig = `apiVersion: sluice/v1alpha1
kind: Configuration
shutdown: {grace: 1s}
`

// demo runs a control plane, Sluice in front of it, and a simulated cluster.
type demo struct {
	options options
	dir     string // holds everything
	out     *os.File

	plane  *harness.ControlPlane
	sluice *harness.Sluice
	inStep bool      // a step has begun and not ended its line
	steps  recording // the steps that have ended
}

// file returns the path of a file of the demo.
func (d *demo) file(name string) string { return filepath.Join(d.dir, name) }

// run runs the demo until the context ends or something fails, and stops everything.
func (d *demo) run(ctx context.Context) error {
	err := d.start(ctx)
	if err == nil {
		err = d.live(ctx)
	}
	if ctx.Err() != nil || errors.Is(err, errOver) {
		err = nil // a requested end is not a failure
	}
	return errors.Join(err, d.stop())
}

// start starts the servers.
func (d *demo) start(ctx context.Context) (err error) {
	done := d.step("Starting etcd, kube-apiserver and its controllers")
	if d.plane, err = harness.StartMain(harness.Options{
		Dir: d.file("controlplane"), Controllers: true, Cancel: ctx.Done(),
	}); err != nil {
		return err
	}
	done()
	done = d.step("Starting Sluice")
	dir := d.file("sluice")
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
	return d.writeEnv()
}

// live creates the samples and simulates the cluster.
func (d *demo) live(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.guard(ctx) })
	g.Go(func() error { return d.play(ctx, g) })
	return g.Wait()
}

// play creates the samples, starts the simulation in g and prints the counters until the demo ends, or
// records.
func (d *demo) play(ctx context.Context, g *errgroup.Group) error {
	done := d.step("Creating %s pods, their owners and other samples", number(d.options.pods))
	s := newSamples(d.plane, d.options.pods)
	if err := s.fill(ctx, g); err != nil {
		return fmt.Errorf("samples: %w", err)
	}
	done()
	if err := d.waitForCaches(ctx); err != nil {
		return err
	}
	costs, err := d.measureCosts(ctx)
	if err != nil {
		return err
	}
	c := newCluster(d.plane.Client("admin"), s.nodes)
	g.Go(func() error { return c.runInformer(ctx) })
	if err := c.sync(ctx); err != nil {
		return err
	}
	g.Go(func() error { return c.runPods(ctx) })
	g.Go(func() error { return c.restartPods(ctx) })
	g.Go(func() error { return s.runBackups(ctx) })
	d.startCrowd(ctx, g)
	if d.options.record != "" {
		return d.record(ctx, costs)
	}
	if err := d.printCommands(s); err != nil {
		return err
	}
	return d.showCounters(ctx, costs)
}

// errOver ends the demo after --record.
var errOver = errors.New("the recording is over")

// guard ends the demo when a server exits by itself.
func (d *demo) guard(ctx context.Context) error {
	select {
	case <-d.plane.Done():
		return fmt.Errorf("the control plane exited\n%s", d.plane.Logs())
	case <-d.sluice.Done():
		return fmt.Errorf("the gateway exited\n%s", d.sluice.Log())
	case <-ctx.Done():
		return nil
	}
}

// stop stops the servers in reverse order of their start.
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

// step prints the name of a step; done prints the time that the step took. A step that fails never calls
// done.
func (d *demo) step(format string, args ...any) (done func()) {
	if d.inStep {
		fmt.Fprintln(d.out)
	}
	d.inStep = true
	name := fmt.Sprintf(format, args...)
	fmt.Fprint(d.out, name, " ... ")
	begin := time.Now()
	return func() {
		d.inStep = false
		end := fmt.Sprintf("%.1fs", time.Since(begin).Seconds())
		fmt.Fprintln(d.out, end)
		d.steps = append(d.steps, scene{output: name + " ... " + end})
	}
}
