package priority

import (
	"context"
	"net/http"
	"sync"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apf "k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"sluice/proxy/accounts"
	"sluice/proxy/request"
)

// controller is one of the library, for one number of seats, which it cannot change.
type controller struct {
	apf.Interface
	informers informerFactory
	estimator estimator

	once sync.Once
	stop chan struct{}
	done sync.WaitGroup
}

// startController returns a controller that runs until it is ended, once the first configuration is in force.
func startController(seats int, first configuration, of Resources) *controller {
	clock := eventclock.Real{}
	c := &controller{informers: informerFactory{schemas: newInformer(), levels: newInformer()}, stop: make(chan struct{})}
	ready := make(chan struct{})
	c.Interface = apf.NewTestable(apf.TestableConfig{
		Name: "sluice", Clock: clock, AsFieldManager: apf.ConfigConsumerAsFieldManager,
		// The library calls this when it reads a schema. No request is classified before it has read all.
		FoundToDangling: func(found bool) bool {
			c.once.Do(func() { close(ready) })
			return !found
		},
		InformerFactory: &c.informers, FlowcontrolClient: readOnlyClient{}, ServerConcurrencyLimit: seats,
		ReqsGaugeVec: metrics.PriorityLevelConcurrencyGaugeVec, ExecSeatsGaugeVec: metrics.PriorityLevelExecutionSeatsGaugeVec,
		QueueSetFactory: queueSets{queueset.NewQueueSetFactory(clock)},
	})
	c.estimator = estimator{fcrequest.DefaultWorkEstimatorConfig(), of, c.GetMaxSeats}
	c.configure(first)
	c.done.Go(func() { _ = c.Run(c.stop) }) // an error means that it was stopped at once
	<-ready
	return c
}

// configure puts a configuration with at least one schema in force, soon after. The library reads all
// objects again when it hears of any.
func (c *controller) configure(to configuration) {
	replace(c.informers.levels, to.levels)
	replace(c.informers.schemas, to.schemas)
	c.informers.schemas.handler.OnAdd(to.schemas[0], false)
}

// end stops the controller. Requests that wait or have a seat go on.
func (c *controller) end() {
	close(c.stop)
	c.done.Wait()
}

// seat is the place of one request at the apiserver.
type seat struct {
	schema, level string
	account       accounts.Key    // whose share of the level it takes
	slow          *accounts.Grant // of a slow response
	bounded       *level          // nil if its level has no number of seats
	seats         int             // that it takes of that level
	left          chan struct{}
	leave         func() // may be called again
}

// Leave implements flowcontrol.Seat.
func (s *seat) Leave() {
	s.slow.Release()
	s.leave()
}

// Slow implements flowcontrol.Seat. The response keeps the seat, as it does at the apiserver, unless its level has so few
// that others would have none. It counts as so many as it has.
func (s *seat) Slow(end func()) (err error) {
	if s.bounded == nil {
		return nil
	}
	places, seats := s.bounded.line.Places(), int64(s.seats)
	most := slowOf(places)
	s.slow, err = s.bounded.slow.Account(s.account).TakeRevocable(accounts.SlowResponses, min(seats, most), end)
	if places < slowShare || seats > most {
		s.leave()
	}
	return err
}

func newSeat(of accounts.Key) *seat {
	left := make(chan struct{})
	return &seat{account: of, left: left, leave: sync.OnceFunc(func() { close(left) })}
}

// take waits for a seat. It returns false if the library refuses the request, or if ctx ends before.
func (c *controller) take(ctx context.Context, r *http.Request, s *seat) (taken bool) {
	digest := apf.RequestDigest{RequestInfo: request.From(r.Context()).RequestInfo, User: callerOf(r, s)}
	decided := make(chan bool, 1)
	var panicked any
	executed := false
	// The library holds a seat for as long as a function runs, so somebody must run it.
	go func() {
		defer close(decided)
		defer func() {
			if !executed { // else nobody would hear of it
				panicked = recover()
			}
		}()
		c.Handle(ctx, digest,
			func(schema *flowcontrolv1.FlowSchema, level *flowcontrolv1.PriorityLevelConfiguration, _ string) {
				s.schema, s.level = schema.Name, level.Name
			},
			func() fcrequest.WorkEstimate { return c.estimator.estimate(r, s) },
			nil,
			func() {
				executed = true
				decided <- true
				<-s.left
			})
	}()
	taken = <-decided
	if !taken && panicked != nil {
		panic(panicked) // where the server recovers, so that one request never ends the process
	}
	return taken
}
