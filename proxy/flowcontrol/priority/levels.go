package priority

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
)

// Options sets up Levels.
type Options struct {
	// Seats is the number that is divided among the levels. Requests of the exempt level come on top.
	Seats int
	// Wait is how long a request may wait for a seat.
	Wait time.Duration
	// Store finds the configuration of the cluster.
	Store StoreOf
	// Objects is for estimates of how many seats a list takes.
	Objects ObjectsOf
	Log     *zap.Logger
}

// Levels gives out seats at the apiserver by the priority levels of the cluster, and by those that every
// apiserver creates until the cluster's are known. It is safe for concurrent use.
type Levels struct {
	options Options
	wait    atomic.Int64 // a time.Duration
	refused flowcontrol.DroppedRequestsTracker
	began   chan struct{}              // closed when there is a current controller
	current atomic.Pointer[controller] // gives out seats
	resized chan struct{}              // receives after SetSeats

	mu     sync.Mutex // guards what follows
	seats  int
	config configuration
	newest *controller // current, or about to be
}

// New returns Levels.
func New(o Options) *Levels {
	metrics.Register()
	l := &Levels{
		options: o, refused: flowcontrol.NewDroppedRequestsTracker(), began: make(chan struct{}), resized: make(chan struct{}, 1),
		seats: o.Seats, config: builtIn(),
	}
	l.SetWait(o.Wait)
	return l
}

// Run follows the configuration until ctx ends. Take waits until it has begun, and goes on with the last
// configuration when it has ended. Run must be called once.
func (l *Levels) Run(ctx context.Context) error {
	f := &follower{store: l.options.Store, apply: l.configure, log: l.options.Log}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { f.run(ctx) })
	defer func() {
		cancel()
		following.Wait()
	}()
	for {
		if err := l.renew(); err != nil {
			return err
		}
		select {
		case <-l.resized:
		case <-ctx.Done():
			l.current.Load().end()
			return nil
		}
	}
}

// renew replaces the controller by one with the present number of seats.
func (l *Levels) renew() error {
	l.mu.Lock()
	c, err := startController(l.seats, l.config, l.options.Objects)
	l.newest = c
	l.mu.Unlock()
	if err != nil {
		c.end()
		return err
	}
	<-c.ready
	if before := l.current.Swap(c); before != nil {
		before.end()
	} else {
		close(l.began)
	}
	return nil
}

// configure puts a configuration in force.
func (l *Levels) configure(c configuration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.config = c
	if l.newest == nil {
		return nil
	}
	return l.newest.configure(c)
}

// SetSeats changes the number of seats. The library cannot, so another controller takes over: requests that
// have a seat by then, or wait for one, keep to the old number and are not counted in the new one.
func (l *Levels) SetSeats(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seats == n {
		return
	}
	l.seats = n
	select {
	case l.resized <- struct{}{}:
	default: // Run has yet to act on an earlier change
	}
}

// SetWait changes how long a request may wait for a seat, from now on.
func (l *Levels) SetWait(d time.Duration) { l.wait.Store(int64(d)) }

// Take waits for a seat for r, whose caller must have been authenticated as far as it can be. The error is
// a 429 with Retry-After, or ctx.Err(). The end of ctx does not give the seat back.
func (l *Levels) Take(ctx context.Context, r *http.Request) (*Seat, error) {
	wait, cancel := context.WithTimeout(ctx, time.Duration(l.wait.Load()))
	defer cancel()
	s := &Seat{left: make(chan struct{})}
	select {
	case <-l.began:
		if l.current.Load().take(wait, r, s) {
			return s, nil
		}
	case <-wait.Done():
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, l.refusal(s.Level)
}

// refusal returns the 429 for a request of a level. Clients come back the later the more of them the level
// has had to refuse.
func (l *Levels) refusal(level string) error {
	l.refused.RecordDroppedRequest(level)
	message := fmt.Sprintf("too many requests of priority level %q wait to be passed to the apiserver, please try again later", level)
	return apierrors.NewTooManyRequests(message, int(l.refused.GetRetryAfter(level)))
}
