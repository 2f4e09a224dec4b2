package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice/test/harness"
)

// demo runs a control plane, Sluice in front of it, and clients.
type demo struct {
	dir    string // holds everything
	plane  *harness.ControlPlane
	sluice *harness.Sluice
	pods   []*corev1.Pod
	costs  [2]float64 // milliseconds of CPU for a list of all pods, of Sluice and of the apiserver
	shown  []string   // the steps on the terminal
}

func main() {
	var pods int
	var record string
	flag.IntVar(&pods, "pods", 1000, "number of sample pods")
	flag.StringVar(&record, "record", "", "run some commands, draw the terminal as an SVG into this file, and end")
	flag.Parse()
	if err := run(pods, record); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run runs the demo until a signal, or something fails, and stops everything. Further signals change nothing:
// stopping is short, and under make one Ctrl-C may arrive twice.
func run(pods int, record string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	dir, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return err
	}
	d := &demo{dir: dir, pods: samplePods(max(pods, 1))}
	if err = d.start(ctx); err == nil {
		err = d.live(ctx, record)
	}
	if ctx.Err() != nil {
		err = nil // a requested end is not a failure
	}
	fmt.Println("Stopping everything")
	if d.sluice != nil {
		err = errors.Join(err, d.sluice.Stop())
	}
	if d.plane != nil {
		err = errors.Join(err, d.plane.Stop())
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// start runs the steps of the start, and prints each with its time.
func (d *demo) start(ctx context.Context) error {
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"Starting etcd and kube-apiserver", d.startPlane},
		{"Starting Sluice", d.startSluice},
		{english.Sprintf("Creating %d pods and other samples", len(d.pods)), d.fill},
		{"Waiting for Sluice's caches", d.waitForCaches},
		{fmt.Sprintf("Listing all pods %d times from the apiserver, %d times from Sluice", listsOfApiserver, listsOfSluice), d.measureCosts},
	} {
		fmt.Print(step.name, " ... ")
		begin := time.Now()
		err := step.run(ctx)
		took := fmt.Sprintf("%.1fs", time.Since(begin).Seconds())
		fmt.Println(took)
		if err != nil {
			return err
		}
		d.shown = append(d.shown, step.name+" ... "+took)
	}
	return nil
}

func (d *demo) startPlane(ctx context.Context) (err error) {
	d.plane, err = harness.StartMain(harness.Options{Dir: filepath.Join(d.dir, "controlplane"), Cancel: ctx.Done()})
	return err
}

func (d *demo) startSluice(context.Context) (err error) {
	d.sluice, err = d.plane.StartSluiceMain(harness.SluiceOptions{
		Binary: "sluice", Dir: d.dir,
		Config: "{apiVersion: sluice/v1alpha1, kind: Configuration, shutdown: {grace: 1s}}", // no load balancer has to notice it
	})
	if err != nil {
		return err
	}
	return d.writeEnv()
}

// live keeps the cluster and the clients busy. Meanwhile it records, or prints the counters until the demo ends.
func (d *demo) live(ctx context.Context, record string) error {
	ctx, cancel := context.WithCancel(ctx)
	var busy sync.WaitGroup
	defer busy.Wait()
	defer cancel()
	busy.Go(func() { d.changeSamples(ctx) })
	for i := range watchers {
		busy.Go(func() { d.keepWatching(ctx, watched[i%len(watched)].path) })
	}
	for range listers {
		busy.Go(func() { d.keepListing(ctx) })
	}
	if record != "" {
		return d.record(ctx, record)
	}
	d.printCommands()
	return d.showCounters(ctx)
}

// pause waits and reports whether the context is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
