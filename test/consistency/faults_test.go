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
	{name: "all connections are cut", begin: func(f *faultInjector) { f.link.Cut(1) }},
	{name: "some connections are cut", begin: func(f *faultInjector) { f.link.Cut(f.rnd.Float64()) }},
	{
		name: "connections are refused", begin: func(f *faultInjector) { f.link.Refuse() },
		shortest: 300 * time.Millisecond, longest: 2 * time.Second, silent: true,
	},
	{
		name: "connections stall", begin: func(f *faultInjector) { f.link.Delay(math.MaxInt64) },
		shortest: 300 * time.Millisecond, longest: 2500 * time.Millisecond, silent: true,
	},
	{name: "connections are slow", begin: (*faultInjector).slow, shortest: time.Second, longest: 3 * time.Second},
	{name: "watches lag", begin: (*faultInjector).delayWatches, shortest: 2 * time.Second, longest: 5 * time.Second},
	{name: "watches lag", begin: (*faultInjector).delayWatches, shortest: 2 * time.Second, longest: 5 * time.Second},
	{name: "the apiserver stops", begin: (*faultInjector).stop, shortest: 300 * time.Millisecond, longest: 2 * time.Second},
	{name: "the apiserver is killed", begin: (*faultInjector).kill, longest: time.Second},
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
			before := f.link.Answered.Load()
			wait(context.WithoutCancel(ctx), half)
			if arrived := f.link.Answered.Load() - before; fault.silent && arrived > 0 {
				f.t.Errorf("%d bytes of the apiserver arrive although %s", arrived, fault.name)
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
