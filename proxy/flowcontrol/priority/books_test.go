package priority

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"sluice/proxy/accounts"
)

// gauge counts.
type gauge struct {
	metrics.Gauge
	mu    sync.Mutex
	value float64
}

func (g *gauge) Add(n float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.value += n
}

// newLevelOf returns a level with queues of the library.
func newLevelOf(t *testing.T, seats int) *level {
	name := []string{"test"}
	completer, err := queueSets{queueset.NewQueueSetFactory(eventclock.Real{})}.BeginConstruction(
		fq.QueuingConfig{Name: name[0], DesiredNumQueues: 8, QueueLengthLimit: 5, HandSize: 2},
		metrics.RatioedGaugeVecPhasedElementPair(metrics.PriorityLevelConcurrencyGaugeVec, 1, 1, name),
		metrics.PriorityLevelExecutionSeatsGaugeVec.NewForLabelValuesSafe(0, 1, name),
		&gauge{})
	if err != nil {
		t.Fatal(err)
	}
	return completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: seats, ConcurrencyDenominator: seats}).(*level)
}

// Random requests of random accounts come, wait, give up and leave, while the number of seats changes.
func TestLevelKeepsItsBooks(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			l := newLevelOf(t, 10)
			keys := []accounts.Key{{Group: "a", Name: "a"}, {Group: "b", Name: "b"}, {Group: "ns", Name: "x"}, {Group: "ns", Name: "y"}, {Group: "ns", Name: "z"}}
			const widest = 5
			seats, executed, refused := 10, 0, 0
			var taken atomic.Int64
			done := make(chan bool, 500)
			for range cap(done) {
				who := caller{&user.DefaultInfo{}, newSeat(keys[random.IntN(len(keys))])}
				work := &fcrequest.WorkEstimate{InitialSeats: 1 + uint64(random.IntN(widest))*uint64(random.IntN(2))}
				keeps, patience := time.Duration(random.IntN(100)), time.Duration(random.IntN(200))
				hash := random.Uint64()
				go func() {
					ctx, cancel := context.WithTimeout(context.Background(), patience*time.Millisecond)
					defer cancel()
					ran := false
					if r, _ := l.StartRequest(ctx, work, hash, "", "schema", nil, who, nil); r != nil {
						r.Finish(func() {
							ran = true
							taken.Add(int64(work.InitialSeats))
							time.Sleep(keeps * time.Millisecond)
							taken.Add(-int64(work.InitialSeats))
						})
					}
					done <- ran
				}()
				if random.IntN(50) == 0 {
					seats = 1 + random.IntN(20)
					completer, err := l.BeginConfigChange(l.queuing)
					if err != nil {
						t.Fatal(err)
					}
					completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: seats, ConcurrencyDenominator: seats})
				}
				time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond)
				synctest.Wait()
				running, waiting := l.line.Numbers()
				if running != taken.Load() || waiting > 0 && running > 0 && int(running)+widest <= seats {
					t.Errorf("%d of %d seats are taken, %d used, and %d requests wait", running, seats, taken.Load(), waiting)
				}
			}
			for range cap(done) {
				if <-done {
					executed++
				} else {
					refused++
				}
			}
			synctest.Wait()
			if wanted := l.wanted.(*gauge).value; wanted != 0 || !l.IsIdle() {
				t.Errorf("seed %d: when all are done %v seats are wanted, idle: %v", seed, wanted, l.IsIdle())
			}
			if min(executed, refused) < 50 {
				t.Errorf("seed %d: %d executed and %d refused show little", seed, executed, refused)
			}
		})
	}
}
