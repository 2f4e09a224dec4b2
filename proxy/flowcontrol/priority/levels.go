package priority

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apf "k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/message"
	"sluice/proxy/request"
)

// Options sets up Levels.
type Options struct {
	// Seats is the number that is divided among the levels. Requests of the exempt level come on top.
	Seats int
	// Wait is how long a request may wait for a seat.
	Wait time.Duration
	// Resources finds the configuration of the cluster.
	Resources Resources
	// BuiltIn goes by the levels that every apiserver creates, whatever the cluster's are.
	BuiltIn bool
	Log     *zap.Logger
}

// Levels gives out seats at the apiserver by the priority levels of the cluster, and by those that every
// apiserver creates until the cluster's are known. It is safe for concurrent use.
type Levels struct {
	options Options
	wait    atomic.Int64 // a time.Duration
	refused apf.DroppedRequestsTracker
	began   chan struct{}              // closed when there is a current controller
	current atomic.Pointer[controller] // gives out seats

	mu     sync.Mutex // guards what follows
	seats  int
	config configuration
	runs   bool
}

// New returns Levels.
func New(o Options) *Levels {
	metrics.Register()
	l := &Levels{options: o, refused: apf.NewDroppedRequestsTracker(), began: make(chan struct{}), config: builtIn()}
	l.Set(o.Seats, o.Wait)
	return l
}

// Run follows the configuration until ctx ends. Take waits until it has begun, and goes on with the last
// configuration when it has ended. Run must be called once.
func (l *Levels) Run(ctx context.Context) error {
	l.run(true)
	close(l.began)
	if !l.options.BuiltIn {
		follow(ctx, l.options.Resources, l.configure, l.options.Log)
	}
	<-ctx.Done()
	l.run(false)
	return nil
}

// run begins or ends the work of controllers.
func (l *Levels) run(runs bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs = runs; runs {
		l.renew()
	} else {
		l.current.Load().end()
	}
}

// renew replaces the controller by one with the present number of seats. The caller must hold mu.
func (l *Levels) renew() {
	before := l.current.Swap(startController(l.seats, l.config, l.options.Resources))
	if before != nil {
		before.end()
	}
}

// configure puts a configuration in force.
func (l *Levels) configure(c configuration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.config = c
	l.current.Load().configure(c)
}

// Set changes the number of seats, and how long a request may wait for one, from now on. The library cannot
// change the number, so another controller takes over: requests that have a seat by then, or wait for one,
// keep to the old number and are not counted in the new one.
func (l *Levels) Set(seats int, wait time.Duration) {
	l.wait.Store(int64(wait))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seats == seats {
		return
	}
	if l.seats = seats; l.runs {
		l.renew()
	}
}

// Take implements flowcontrol.Seats: it waits for a seat for r, whose caller must have been authenticated.
// The error is a 429 with Retry-After, or ctx.Err(). The end of ctx does not give the seat back.
func (l *Levels) Take(ctx context.Context, r *http.Request) (flowcontrol.Seat, error) {
	return l.take(ctx, r)
}

func (l *Levels) take(ctx context.Context, r *http.Request) (*seat, error) {
	wait, cancel := context.WithTimeout(ctx, time.Duration(l.wait.Load()))
	defer cancel()
	s := newSeat(request.From(r.Context()).Account.Key)
	select {
	case <-l.began:
		if l.current.Load().take(wait, r, s) {
			return s, nil
		}
	case <-wait.Done():
	}
	if err := ctx.Err(); err != nil {
		return s, err
	}
	return s, l.refusal(s.level)
}

// refusal returns the 429 for a request of a level. Clients come back the later the more of them the level
// has had to refuse.
func (l *Levels) refusal(level string) error {
	l.refused.RecordDroppedRequest(level)
	return apierrors.NewTooManyRequests(message.NoSeat.Say(level), int(l.refused.GetRetryAfter(level)))
}
