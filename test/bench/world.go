package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

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

// world is the servers of some scenarios, with objects that were written straight into etcd.
type world struct {
	*options
	dir   string // of the control plane
	plane *harness.ControlPlane
	floor *floor

	apiserver, cached, tiers, bare *target // tiers and bare, the floor's, may be nil

	pods       population
	paths      []string               // of the pods
	onNode     map[string]int         // number of pods by node
	nodes      []string               // sorted keys of onNode
	sequence   atomic.Int64           // number of updates
	background float64                // CPU of the idle control plane, as a share of a core
	updateCost map[bool]time.Duration // CPU of the control plane per update, of pods or others, with these pods
}

// withWorld starts the servers with objects for as long as do takes. Without --scale there is a floor, the first objects are
// pods, and Sluice compresses watches.
func withWorld(ctx context.Context, o *options, objects []population, do func(*world)) {
	w := &world{options: o, updateCost: map[bool]time.Duration{}, pods: objects[0], dir: must(os.MkdirTemp("", "bench-"))}
	defer func() { stopped(os.RemoveAll(w.dir)) }()
	w.startPlane()
	defer func() { stopped(w.plane.Stop()) }()
	for _, p := range objects {
		p.load(ctx, w.plane)
	}
	measuresScale := len(o.scale) > 0
	var sluiceOptions harness.SluiceOptions
	if measuresScale { // a new control plane has no garbage of the creation in its memory
		stopped(w.plane.Stop())
		w.startPlane()
	} else {
		sluiceOptions.Config = compressedWatches
		w.know()
	}
	w.apiserver = w.direct(user)
	defer w.apiserver.close()
	w.withSluice(sluiceName, user, sluiceOptions, func(t *target) {
		if w.cached = t; !measuresScale {
			w.floor = startFloor(w.apiserver)
			defer func() { stopped(w.floor.stop()) }()
			w.bare = w.floor.target
			defer w.bare.close()
		}
		do(w)
	})
}

// startPlane starts the control plane with all formats, and with a longer request timeout than one minute, in which the
// apiserver cannot write twenty large lists at once.
func (w *world) startPlane() {
	progress("starting the control plane")
	w.plane = must(harness.StartMain(harness.Options{Dir: w.dir, Flags: []string{
		"--request-timeout=" + responseLimit.String(), "--feature-gates=CBORServingAndStorage=true",
	}}))
}

// direct returns the apiserver as a target of a user.
func (w *world) direct(as string) *target {
	return &target{name: apiserverName, proc: proc(w.plane.PID()), config: w.plane.RESTConfig(as)}
}

// targets returns the servers that run: the apiserver, Sluice, the floor and the second tier.
func (w *world) targets() []*target {
	return slices.DeleteFunc([]*target{w.apiserver, w.cached, w.bare, w.tiers}, func(t *target) bool { return t == nil })
}

// rest measures the servers without requests. Meters subtract the CPU that the control plane uses then.
func (w *world) rest(ctx context.Context) map[string]*figures {
	progress("measuring idle servers for %s", w.options.idle)
	idle := measureIdle(ctx, w.options.idle, w.targets()...)
	w.background = idle[apiserverName].Share
	return idle
}

// know learns which pods there are.
func (w *world) know() {
	w.onNode = map[string]int{}
	for _, obj := range w.pods.objects {
		pod := obj.(*corev1.Pod)
		w.paths = append(w.paths, "/api/v1/namespaces/"+pod.Namespace+"/pods/"+pod.Name)
		w.onNode[pod.Spec.NodeName]++
	}
	w.nodes = slices.Sorted(maps.Keys(w.onNode))
}

// node returns a node that has pods, another one for each i below the number of nodes.
func (w *world) node(i int) string { return w.nodes[i%len(w.nodes)] }

// awaitSync makes a Sluice cache the pods and waits until its cache is in sync.
func (w *world) awaitSync(ctx context.Context, s *harness.Sluice) {
	progress("waiting until the cache of pods is in sync")
	check(harness.Poll(ctx, func() error { return s.CacheSynced(ctx, "/api/v1/pods", "pods.v1") }))
}

// withCachedPods starts a Sluice with default limits, and the pods in its cache, for as long as do takes.
func (w *world) withCachedPods(ctx context.Context, o harness.SluiceOptions, do func(*target)) {
	w.withSluice(sluiceName, harness.Anonymous, o, func(t *target) {
		w.awaitSync(ctx, t.sluice)
		do(t)
	})
}

// withSluice starts a Sluice, as a target of a user, for as long as do takes.
func (w *world) withSluice(name, as string, o harness.SluiceOptions, do func(*target)) {
	o.Binary, o.Flags = "sluice", []string{"--log-level=error"}
	s := must(w.plane.StartSluiceMain(o))
	t := &target{name: name, proc: proc(s.PID()), config: s.RESTConfig(as), sluice: s}
	defer func() {
		t.close()
		stopped(s.Stop(), os.RemoveAll(s.Dir))
	}()
	do(t)
}

// stopped shows why servers could not be stopped.
func stopped(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		progress("stop: %v", err)
	}
}

// poll calls done until it is true, and reports whether that was before a limit. It fails when the context ends.
func poll(ctx context.Context, every, limit time.Duration, done func() bool) bool {
	for end := time.Now().Add(limit); !done(); sleep(ctx, every) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// sleep sleeps for d. It fails when the context ends.
func sleep(ctx context.Context, d time.Duration) {
	if !slept(ctx, d) {
		check(ctx.Err())
	}
}

// slept sleeps for d or until the context ends, and reports whether it has not.
func slept(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
