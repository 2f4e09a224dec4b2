package consistency

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"sluice/test/consistency/wire"
)

// faultInjector injects faults, one after the other.
type faultInjector struct {
	t    *testing.T
	rnd  *rand.Rand
	link *wire.Link
	lag  *wire.Lag
	note func(text string)

	kills  int // of the control plane
	stops  int // of the control plane
	starts cacheStarts
}

// fault is one fault. It lasts until do returns.
type fault struct {
	name string
	do   func(f *faultInjector, ctx context.Context)
}

// faults are injected in random order, each once per round. Lag comes twice, because it reveals a
// gateway that answers too early.
var faults = []fault{
	{"all connections are cut", func(f *faultInjector, _ context.Context) { f.link.Cut(1) }},
	{"some connections are cut", func(f *faultInjector, _ context.Context) { f.link.Cut(f.rnd.Float64()) }},
	{"connections are refused", (*faultInjector).refuse},
	{"connections stall", (*faultInjector).stall},
	{"connections are slow", (*faultInjector).slow},
	{"watches lag", (*faultInjector).delayWatches},
	{"watches lag", (*faultInjector).delayWatches},
	{"the apiserver stops", (*faultInjector).stop},
	{"the apiserver is killed", (*faultInjector).kill},
}

// Lag and delay between faults. On a perfect connection, a gateway without a consistent-read fence
// would be right most of the time.
const (
	normalLag   = 40 * time.Millisecond
	normalDelay = 4 * time.Millisecond
)

func (f *faultInjector) restore() {
	f.lag.Set(0, normalLag)
	f.link.Restore()
	f.link.Delay(normalDelay)
}

// run injects faults until the context ends. It does not shorten the last fault.
func (f *faultInjector) run(ctx context.Context) {
	f.restore()
	for ctx.Err() == nil {
		for _, n := range f.rnd.Perm(len(faults)) {
			wait(ctx, between(f.rnd, 500*time.Millisecond, 2500*time.Millisecond))
			if ctx.Err() != nil {
				return
			}
			f.note(faults[n].name)
			faults[n].do(f, context.WithoutCancel(ctx))
			f.restore()
			f.note("end of: " + faults[n].name)
		}
	}
}

func (f *faultInjector) refuse(ctx context.Context) {
	f.link.Refuse(true)
	f.link.Cut(1)
	wait(ctx, between(f.rnd, 300*time.Millisecond, 2*time.Second))
}

func (f *faultInjector) stall(ctx context.Context) {
	f.link.Stall(true)
	wait(ctx, between(f.rnd, 300*time.Millisecond, 2500*time.Millisecond))
}

func (f *faultInjector) slow(ctx context.Context) {
	f.link.Delay(between(f.rnd, 20*time.Millisecond, 150*time.Millisecond))
	wait(ctx, between(f.rnd, time.Second, 3*time.Second))
}

func (f *faultInjector) delayWatches(ctx context.Context) {
	f.lag.Set(0, between(f.rnd, 100*time.Millisecond, 1500*time.Millisecond))
	wait(ctx, between(f.rnd, 2*time.Second, 5*time.Second))
}

func (f *faultInjector) stop(ctx context.Context) {
	if err := controlPlane.Signal(syscall.SIGSTOP); err != nil {
		f.t.Fatal(err)
	}
	f.stops++
	wait(ctx, between(f.rnd, 300*time.Millisecond, 2*time.Second))
	if err := controlPlane.Signal(syscall.SIGCONT); err != nil {
		f.t.Fatal(err)
	}
}

func (f *faultInjector) kill(ctx context.Context) {
	f.starts.add(f.t)
	controlPlane.Kill()
	f.kills++
	wait(ctx, upTo(f.rnd, time.Second))
	controlPlane.Restart(f.t)
}
