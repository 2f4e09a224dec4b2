package consistency

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"sluice/test/consistency/wire"
)

// weather makes faults, one after the other.
type weather struct {
	t    *testing.T
	rnd  *rand.Rand
	link *wire.Link
	lag  *wire.Lag
	note func(text string)

	kills int // of the control plane
	stops int
}

// fault is something that goes wrong for a while, or until all is calm again.
type fault struct {
	name string
	do   func(w *weather, ctx context.Context)
}

// faults come in a random order, each before any comes again. Lag comes twice:
// it is what a gateway that answers too early is found out by.
var faults = []fault{
	{"all connections are cut", func(w *weather, _ context.Context) { w.link.Cut(1) }},
	{"some connections are cut", func(w *weather, _ context.Context) { w.link.Cut(w.rnd.Float64()) }},
	{"connections are refused", (*weather).refuse},
	{"connections stall", (*weather).stall},
	{"connections are slow", (*weather).slow},
	{"watches lag", (*weather).lags},
	{"watches lag", (*weather).lags},
	{"the apiserver stops", (*weather).stop},
	{"the apiserver is killed", (*weather).kill},
}

// While nothing is wrong, watches are late and connections slow by so much. On
// a perfect connection, a gateway that does not prove its answers recent is
// right most of the time.
const (
	calmLag   = 40 * time.Millisecond
	calmDelay = 4 * time.Millisecond
)

func (w *weather) calm() {
	w.lag.Set(0, calmLag)
	w.link.Heal()
	w.link.Delay(calmDelay)
}

// run makes faults until the context ends, but ends none too early.
func (w *weather) run(ctx context.Context) {
	w.calm()
	for ctx.Err() == nil {
		for _, n := range w.rnd.Perm(len(faults)) {
			wait(ctx, between(w.rnd, 500*time.Millisecond, 2500*time.Millisecond))
			if ctx.Err() != nil {
				return
			}
			w.note(faults[n].name)
			faults[n].do(w, context.WithoutCancel(ctx))
			w.calm()
			w.note("over: " + faults[n].name)
		}
	}
}

func (w *weather) refuse(ctx context.Context) {
	w.link.Refuse(true)
	w.link.Cut(1)
	wait(ctx, between(w.rnd, 300*time.Millisecond, 2*time.Second))
}

func (w *weather) stall(ctx context.Context) {
	w.link.Stall(true)
	wait(ctx, between(w.rnd, 300*time.Millisecond, 2500*time.Millisecond))
}

func (w *weather) slow(ctx context.Context) {
	w.link.Delay(between(w.rnd, 20*time.Millisecond, 150*time.Millisecond))
	wait(ctx, between(w.rnd, time.Second, 3*time.Second))
}

func (w *weather) lags(ctx context.Context) {
	w.lag.Set(0, between(w.rnd, 100*time.Millisecond, 1500*time.Millisecond))
	wait(ctx, between(w.rnd, 2*time.Second, 5*time.Second))
}

func (w *weather) stop(ctx context.Context) {
	if err := plane.Signal(syscall.SIGSTOP); err != nil {
		w.t.Fatal(err)
	}
	w.stops++
	wait(ctx, between(w.rnd, 300*time.Millisecond, 2*time.Second))
	if err := plane.Signal(syscall.SIGCONT); err != nil {
		w.t.Fatal(err)
	}
}

func (w *weather) kill(ctx context.Context) {
	plane.Kill()
	w.kills++
	wait(ctx, upTo(w.rnd, time.Second))
	plane.Restart(w.t)
}
