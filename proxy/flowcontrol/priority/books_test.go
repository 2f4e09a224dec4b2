package priority

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// newLevelOf returns a level with queues of the library.
func newLevelOf(t *testing.T, seats int) *level {
	name := []string{"test"}
	completer, err := queueSets{queueset.NewQueueSetFactory(eventclock.Real{})}.BeginConstruction(
		fq.QueuingConfig{Name: name[0], DesiredNumQueues: 8, QueueLengthLimit: 5, HandSize: 2},
		metrics.RatioedGaugeVecPhasedElementPair(metrics.PriorityLevelConcurrencyGaugeVec, 1, 1, name),
		metrics.PriorityLevelExecutionSeatsGaugeVec.NewForLabelValuesSafe(0, 1, name),
		metrics.ApiserverSeatDemands.NewForLabelValuesSafe(0, 1, name))
	if err != nil {
		t.Fatal(err)
	}
	return completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: seats, ConcurrencyDenominator: seats}).(*level)
}

// check compares the sums of a level with what they sum up, and checks that no seat is free for the next
// request in front.
func (l *level) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	taken, inFront, turns := 0, 0, 0
	for name, tenant := range l.tenants {
		taken += tenant.taken
		if tenant.turn != nil {
			turns++
		}
		if tenant.name != name || tenant.taken == 0 && tenant.turn == nil || (tenant.turn == nil) != (tenant.turns.Len() == 0) || tenant.turns.Len() != len(tenant.lines) {
			t.Errorf("tenant %q: %+v", name, tenant)
		}
		for member := range tenant.lines {
			n := tenant.waitingOf(member)
			inFront += n
			if n == 0 {
				t.Errorf("member %q has a turn and no request", member)
			}
		}
	}
	if taken != l.taken || inFront != l.inFront || turns != l.turns.Len() || l.demand.inFront < float64(inFront) {
		t.Errorf("%d seats, %d in front, %d turns; the sums are %d, %d, %d", l.taken, l.inFront, l.turns.Len(), taken, inFront, turns)
	}
	if l.inFront > 0 {
		if next := l.turns.Front().Value.(*tenant).next(); l.hasFree(next) {
			t.Errorf("%d of %d seats are taken and a request for %d waits in front", l.taken, l.limit, next.seats)
		}
	}
}

// Random requests of random accounts come, wait, give up and leave, while the number of seats changes.
func TestLevelKeepsItsBooks(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			l := newLevelOf(t, 10)
			accounts := []account{{"a", "a"}, {"b", "b"}, {"", "10.0.0.1"}, {"", "10.0.0.2"}, {"ns", "x"}, {"ns", "y"}, {"ns", "z"}}
			executed, refused := 0, 0
			done := make(chan bool, 500)
			for range cap(done) {
				who := caller{&user.DefaultInfo{}, accounts[random.IntN(len(accounts))]}
				work := &fcrequest.WorkEstimate{InitialSeats: 1 + uint64(random.IntN(5))*uint64(random.IntN(2))}
				keeps, patience := time.Duration(random.IntN(100)), time.Duration(random.IntN(200))
				hash := random.Uint64()
				go func() {
					ctx, cancel := context.WithTimeout(context.Background(), patience*time.Millisecond)
					defer cancel()
					ran := false
					if r, _ := l.StartRequest(ctx, work, hash, "", "schema", nil, who, nil); r != nil {
						r.Finish(func() { ran = true; time.Sleep(keeps * time.Millisecond) })
					}
					done <- ran
				}()
				if random.IntN(50) == 0 {
					seats := 1 + random.IntN(20)
					completer, err := l.BeginConfigChange(l.queuing)
					if err != nil {
						t.Fatal(err)
					}
					completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: seats, ConcurrencyDenominator: seats})
				}
				time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond)
				synctest.Wait()
				l.check(t)
			}
			for range cap(done) {
				if <-done {
					executed++
				} else {
					refused++
				}
			}
			synctest.Wait()
			if len(l.tenants) != 0 || l.taken != 0 || l.inFront != 0 || l.demand.inFront != 0 || !l.IsIdle() {
				t.Errorf("seed %d: when all are done: %d tenants, %d seats, %d in front", seed, len(l.tenants), l.taken, l.inFront)
			}
			if min(executed, refused) < 50 {
				t.Errorf("seed %d: %d executed and %d refused show little", seed, executed, refused)
			}
		})
	}
}
