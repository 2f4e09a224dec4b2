package consistency

import (
	"context"
	"math"
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

	comeBack func() // of the control plane; nil if it is there
}

// faults are injected in random order, each once per round, for a random time. Lag comes twice, because it
// reveals a gateway that answers too early.
var faults = []struct {
	name              string
	begin             func(f *faultInjector)
	shortest, longest time.Duration
	silent            bool // no byte of the apiserver arrives
}{
	{"all connections are cut", func(f *faultInjector) { f.link.Cut(1) }, 0, 0, false},
	{"some connections are cut", func(f *faultInjector) { f.link.Cut(f.rnd.Float64()) }, 0, 0, false},
	{"connections are refused", func(f *faultInjector) { f.link.Refuse() }, 300 * time.Millisecond, 2 * time.Second, true},
	{"connections stall", func(f *faultInjector) { f.link.Delay(math.MaxInt64) }, 300 * time.Millisecond, 2500 * time.Millisecond, true},
	{"connections are slow", (*faultInjector).slow, time.Second, 3 * time.Second, false},
	{"watches lag", (*faultInjector).delayWatches, 2 * time.Second, 5 * time.Second, false},
	{"watches lag", (*faultInjector).delayWatches, 2 * time.Second, 5 * time.Second, false},
	{"the apiserver stops", (*faultInjector).stop, 300 * time.Millisecond, 2 * time.Second, false},
	{"the apiserver is killed", (*faultInjector).kill, 0, time.Second, false},
}

// Lag and delay between faults. On a perfect connection, a gateway without a consistent-read fence
// would be right most of the time.
const (
	normalLag   = 40 * time.Millisecond
	normalDelay = 4 * time.Millisecond
)

func (f *faultInjector) restore() {
	if f.comeBack != nil {
		f.comeBack()
		f.comeBack = nil
	}
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
			fault := faults[n]
			f.note(fault.name)
			fault.begin(f)
			half := between(f.rnd, fault.shortest, fault.longest) / 2
			wait(context.WithoutCancel(ctx), half)
			arrived := f.link.Answered.Load()
			wait(context.WithoutCancel(ctx), half)
			if n := f.link.Answered.Load() - arrived; fault.silent && n > 0 {
				f.t.Errorf("%d bytes of the apiserver arrive although %s", n, fault.name)
			}
			f.restore()
			f.note("end of: " + fault.name)
		}
	}
}

func (f *faultInjector) slow() {
	f.link.Delay(between(f.rnd, 20*time.Millisecond, 150*time.Millisecond))
}

func (f *faultInjector) delayWatches() {
	f.lag.Set(0, between(f.rnd, 100*time.Millisecond, 1500*time.Millisecond))
}

func (f *faultInjector) stop() {
	f.signal(syscall.SIGSTOP)
	f.stops++
	f.comeBack = func() { f.signal(syscall.SIGCONT) }
}

func (f *faultInjector) signal(s syscall.Signal) {
	if err := controlPlane.Signal(s); err != nil {
		f.t.Fatal(err)
	}
}

func (f *faultInjector) kill() {
	f.starts.add(f.t)
	controlPlane.Kill()
	f.kills++
	f.comeBack = func() { controlPlane.Restart(f.t) }
}
