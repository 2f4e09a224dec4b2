package connections

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"time"

	"sluice/proxy/accounts"
	"sluice/proxy/queue"
)

const (
	// doorTries is how often a connection waits at the door: the number of places is as of the last arrival, and may be
	// too high.
	doorTries = 10
	// doorPatience is how long it waits there at most: longer than most clients do.
	doorPatience = 30 * time.Second
	// introducing bounds the strangers between their handshake and their first request, each of which counts for
	// introducedFor at most. The clients of a crowd may share a processor: if all shook hands at once, each handshake would
	// take longer than its client waits.
	introducing   = 32
	introducedFor = patience
	// helloPatience is how long it counts that a client has not completed its first message, and stepPatience that it has not
	// sent what follows: thousands of clients a second may go so far and no further.
	helloPatience = 10 * time.Millisecond
	stepPatience  = 50 * time.Millisecond
	// usherEvery is how often it is tried to make room for those who wait to be strangers.
	usherEvery = 10 * time.Millisecond
)

// Limiter counts connections. One is silent until its client sends something, a stranger's until its first
// authenticated request, and its user's from then on. When there are too many strangers, those that wait for their
// clients make room for new ones, so that callers without credentials keep nobody out; while all are busy, new
// connections wait, except for those of addresses with many more.
type Limiter struct {
	ledger *accounts.Ledger
	door   *queue.Queue // has a place for each stranger: for the address with the fewest, and of one address for the newest
	entry  *queue.Queue // of strangers between their handshake and their first request
	turns  *queue.Queue // of strangers whose received bytes are processed

	mu     sync.Mutex // guards what follows
	ushers bool       // usher runs
}

// New returns a Limiter that counts connections in a Ledger.
func New(l *accounts.Ledger) *Limiter {
	return &Limiter{
		ledger: l, door: queue.New(0).NewestFirst(), entry: queue.New(introducing).Alternating(),
		turns: queue.New(int64(2 * runtime.GOMAXPROCS(0))).Alternating(),
	}
}

// usher makes room while somebody waits at the door.
func (l *Limiter) usher() {
	for {
		l.mu.Lock()
		next, waits := l.door.Next()
		l.ushers = waits
		l.mu.Unlock()
		if !waits {
			return
		}
		if !l.ledger.Account(next).MakeRoom(accounts.Strangers) {
			time.Sleep(usherEvery)
		}
	}
}

// awaitUsher has usher run, if it does not.
func (l *Limiter) awaitUsher() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ushers {
		l.ushers = true
		go l.usher()
	}
}

// admit waits until the connection is a stranger's and its handshake may begin. It returns false if ctx ends before that, or
// the connection closes.
func (c *conn) admit(ctx context.Context) bool {
	for range doorTries {
		entry, err := c.introduce(ctx)
		if _, refused := errors.AsType[*accounts.Refused](err); refused {
			continue // there is less memory for strangers than when the number of places was set
		}
		if err != nil || entry.Wait(ctx) != nil {
			return false
		}
		c.leaveEntry(entry)
		return true
	}
	return false
}

// leaveEntry looks now and then whether the connection need no longer count among those between handshake and first request.
func (c *conn) leaveEntry(entry *queue.Ticket) {
	time.AfterFunc(helloPatience, func() {
		age, reading, most := time.Since(c.since), time.Duration(c.reading.Load()), helloPatience
		if c.answered.Load() {
			most = stepPatience
		}
		if age >= introducedFor || reading > 0 && age-reading >= most {
			entry.Leave()
		} else if c.entry.Load() == entry {
			c.leaveEntry(entry)
		}
	})
}

// introduce waits for a place at the door, and makes the connection a stranger's with a ticket of the entry queue.
func (c *conn) introduce(ctx context.Context) (entry *queue.Ticket, err error) {
	door, ledger := c.limiter.door, c.limiter.ledger
	door.SetPlaces(ledger.Limit(accounts.Strangers))
	place := door.Join(c.address, 1, 0)
	if !place.HasStarted() {
		c.limiter.awaitUsher()
	}
	if err := place.Wait(ctx); err != nil {
		return nil, err
	}
	entry = c.limiter.entry.Join(c.self(), 1, 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Now()
	c.place.Store(place)
	c.entry.Store(entry)
	g, err := ledger.Account(c.address).TakeWhileBusy(accounts.Strangers, 1, c.busy, c.evict)
	if err == nil && c.closed {
		g.Release()
		err = net.ErrClosed
	}
	if err != nil {
		c.leave()
		return nil, err
	}
	c.grant.Release()
	c.grant = g
	return entry, nil
}
