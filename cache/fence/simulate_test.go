package fence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
)

const (
	warmUp       = 1200 * time.Millisecond
	longest      = 8 * time.Second       // of a simulation, after warmUp
	enough       = 150                   // reads to end it
	cores        = 2                     // of the apiserver
	smallBytes   = 150 << 10             // of the objects that a small read selects, as the pods of a node
	objectBytes  = 10                    // length of an object, divided by that in an inventory
	eventDelay   = 4 * time.Millisecond  // of the store's own watch
	bookmarkWait = time.Second           // of a second watch
	elsewhere    = 50 * time.Millisecond // between writes of other resources
	busyWrites   = 20 * time.Millisecond // between writes of a busy resource
)

// cell is what is simulated: readers of a resource of an apiserver. Each reads again after a pause of its own.
type cell struct {
	slow    time.Duration // factor of the work of a request
	stalled bool          // no event of the resource arrives, and no bookmark
	objects int
	entry   int // length of an object in an inventory
	busy    bool
	readers int
	pause   time.Duration
	read    reading
}

type reading uint8

const (
	small  reading = iota // a list of few objects
	large                 // a list of all
	stream                // a streaming list of few, which cannot pass once it has begun
)

func (c cell) bytes() int64 {
	if c.read == large {
		return int64(c.objects*c.entry) * objectBytes
	}
	return smallBytes
}

// policy decides about a read, which the apiserver answers if there is an error.
type policy func(ctx context.Context, f *Fence, n Need) (Answer, error)

func byRule(ctx context.Context, f *Fence, n Need) (Answer, error) {
	if n.Patient {
		n.Scope = &cache.Scope{Namespace: "ns"}
	} else {
		n.MayPass = true
	}
	return f.Prove(ctx, n)
}

func proveAll(ctx context.Context, f *Fence, n Need) (Answer, error) { return f.Prove(ctx, n) }

func passAll(context.Context, *Fence, Need) (Answer, error) { return Answer{}, errors.New("passes") }

// simulation is one run of a cell. It is the apiserver of the fence, and takes no time but in its bubble.
type simulation struct {
	cell
	policy
	store *cache.Writer
	cores chan struct{} // holds a token for each core that works

	mu       sync.Mutex // guards the fields below
	on       bool       // the warm-up has ended
	version  uint64
	versions []uint64 // of the objects
	figures
	took []time.Duration // by reads
	done chan struct{}   // closed after enough of them
}

// figures are what a cell comes to.
type figures struct {
	passed, late, inventories, secondWatches int
	reads                                    int
	work                                     float64       // CPU time of the apiserver per read, relative to one that passes
	p50                                      time.Duration // of the time that a read takes
}

// spend has the work of a request done, and counted with the request once the simulation is on.
func (s *simulation) spend(ctx context.Context, work time.Duration, count *int) error {
	work *= s.slow
	s.mu.Lock()
	if s.on {
		s.work += work.Seconds()
		*count++
	}
	s.mu.Unlock()
	select {
	case s.cores <- struct{}{}:
		defer func() { <-s.cores }()
		pause(ctx, work)
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (s *simulation) Probe(ctx context.Context) (uint64, error) {
	s.mu.Lock()
	version := s.version
	s.mu.Unlock()
	return version, s.spend(ctx, requestWork, new(int))
}

func (s *simulation) Inventory(ctx context.Context, scope cache.Scope, _ uint64) (*cache.Inventory, error) {
	listed := s.objects
	if scope != (cache.Scope{}) {
		listed = smallBytes / s.entry / objectBytes
	}
	i := &cache.Inventory{Scope: scope, Bytes: listed * s.entry}
	s.mu.Lock()
	i.Version = s.version
	for k, version := range s.versions[:listed] {
		if err := i.Add(simulatedKeys[k], version); err != nil {
			panic(err)
		}
	}
	s.mu.Unlock()
	return i, s.spend(ctx, inventoryWork(int64(i.Bytes)), &s.inventories)
}

func (s *simulation) SecondWatch(ctx context.Context, from uint64, event, bookmark func(uint64)) error {
	if err := s.spend(ctx, requestWork, &s.secondWatches); err != nil || s.stalled {
		return cmp.Or(err, errNoList)
	}
	pause(ctx, bookmarkWait)
	s.mu.Lock()
	version, events := s.version, slices.Sorted(slices.Values(s.versions))
	s.mu.Unlock()
	for _, e := range events {
		if e > from {
			event(e)
		}
	}
	bookmark(version)
	return ctx.Err()
}

var simulatedKeys = func() (keys []tree.Key) {
	for i := range 10_000 {
		keys = append(keys, tree.KeyOf("ns", fmt.Sprintf("o%06d", i)))
	}
	return keys
}()

// write writes again and again until ctx ends: an object of the resource, or elsewhere.
func (s *simulation) write(ctx context.Context, every time.Duration, here bool) {
	r := rand.New(rand.NewPCG(1, 2))
	for ctx.Err() == nil {
		pause(ctx, every)
		s.mu.Lock()
		s.version++
		version, k := s.version, r.IntN(s.objects)
		if here {
			s.versions[k] = version
		}
		s.mu.Unlock()
		if !here || s.stalled {
			continue
		}
		time.Sleep(eventDelay)
		if err := s.store.Apply(cache.Modified, object(simulatedKeys[k], version), time.Now()); err != nil {
			panic(err)
		}
	}
}

// reader reads again and again until ctx ends.
func (s *simulation) reader(ctx context.Context, f *Fence, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for ctx.Err() == nil {
		pause(ctx, time.Duration(r.Int64N(int64(2*s.pause))))
		start := time.Now()
		brief, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, err := s.policy(brief, f, Need{Bytes: s.bytes(), Small: s.bytes() <= 1<<20, Patient: s.read == stream})
		cancel()
		switch pass, passes := errors.AsType[Pass](err); {
		case passes:
			_ = s.spend(ctx, readWork(s.bytes()), &s.passed)
			pass.End()
		case err != nil:
			_ = s.spend(ctx, readWork(s.bytes()), &s.late)
		}
		s.mu.Lock()
		if s.on && ctx.Err() == nil {
			if s.took = append(s.took, time.Since(start)); len(s.took) == enough {
				close(s.done)
			}
		}
		s.mu.Unlock()
	}
}

// simulate runs a cell.
func simulate(t *testing.T, c cell, p policy) (result figures) {
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{cell: c, policy: p, cores: make(chan struct{}, cores), done: make(chan struct{}), version: uint64(c.objects)}
		var objects []*tree.Object
		for i, k := range simulatedKeys[:c.objects] {
			objects, s.versions = append(objects, object(k, uint64(i+1))), append(s.versions, uint64(i+1))
		}
		s.store = cache.New(cache.Options{}, objects, s.version)
		f := New(s.store.Store, s, func() Cost { return usual }, func(err error) { panic(err) })
		f.inventory = inventoryRecord{perObject: int64(c.entry), at: time.Now()}
		_, saved := usual.most()
		f.allowance.charge(time.Second, int64(saved)) // as after a while
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { f.Run(ctx) })
		all.Go(func() { s.write(ctx, elsewhere, false) })
		if c.busy {
			all.Go(func() { s.write(ctx, busyWrites, true) })
		}
		for i := range c.readers {
			all.Go(func() { s.reader(ctx, f, uint64(i)) })
		}
		time.Sleep(warmUp)
		s.turn(true)
		select {
		case <-s.done:
		case <-time.After(longest):
		}
		s.turn(false)
		cancel()
		s.store.Close()
		all.Wait()
		slices.Sort(s.took)
		if s.reads = len(s.took); s.reads > 0 {
			s.p50 = s.took[s.reads/2]
		}
		s.work /= float64(max(s.reads, 1)) * (readWork(c.bytes()) * c.slow).Seconds()
		result = s.figures
	})
	return result
}

// turn turns counting on or off.
func (s *simulation) turn(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = on
}
