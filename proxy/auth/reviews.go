package auth

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/trace"
)

const (
	// reviewTimeout bounds a review, and placeTimeout the wait for its place.
	reviewTimeout, placeTimeout = 10 * time.Second, 30 * time.Second
	// stalePatience is how long a caller waits for the repetition of a review whose last result can
	// still be used.
	stalePatience = time.Second
	// failedPause is how long a review that failed is not repeated: a crowd must not ask an apiserver that fails as often
	// as it reads.
	failedPause = time.Second
	// resultPart divides the memory for positive results of one kind of review, of which there are minResultBytes, enough for
	// the pods of a DaemonSet on 10,000 nodes with a token each, and at most maxResultBytes: the collector scans them.
	resultPart     = 64
	minResultBytes = 16 << 20
	maxResultBytes = 128 << 20
	// negativeBytes bounds other results of one kind: a flood of rejected tokens displaces no positive result.
	negativeBytes = 4 << 20
)

// reviewError is the error of a review that could not be made, rather than its negative result.
type reviewError struct{ error }

// errRests is the error of a review that is not repeated yet; the cause of its failure is not kept, since it may be large.
var errRests = &reviewError{errors.New("the review has failed a moment ago")}

// Unwrap returns the cause.
func (e *reviewError) Unwrap() error { return e.error }

// asker is the caller that an unknown review is for.
type asker struct {
	caller limits.Caller
	// hold counts the memory of the wait, until end is called in favor of others; nil if it is counted already.
	hold func(end func()) (*limits.Hold, error)
	// request takes note of the review that it waits for, which its span is to show. It may be nil.
	request *request.Info
}

// errCrowdedOut is the error of an unknown token that gives its room to others, or gets no place in time. Passed instead, it
// would cost the apiserver as much.
var errCrowdedOut = &limits.Refused{}

// recheckKey marks the context of a recheck of an open watch.
type recheckKey struct{}

// isRecheck reports whether a review is part of a recheck of an open watch. There is one at a time
// for each watch, so it counts as known.
func isRecheck(ctx context.Context) bool { return ctx.Value(recheckKey{}) != nil }

// staleKey marks the context of a read of any version: its objects can be as old as the verdict about it.
type staleKey struct{}

// withStale returns the context for reviews of a request.
func withStale(ctx context.Context, info *request.Info) context.Context {
	if info.Verb != "get" && info.Verb != "list" && info.Verb != "watch" ||
		info.Query.Get("resourceVersion") != "0" || info.Query.Get("resourceVersionMatch") == "Exact" {
		return ctx
	}
	return context.WithValue(ctx, staleKey{}, true)
}

// reviews makes the reviews of one kind. Equal reviews share a request and, for the TTL of the result,
// its result.
type reviews[V any] struct {
	queue    *limits.Queue
	metrics  reviewMetrics
	staleFor atomic.Int64 // time.Duration
	failing  atomic.Bool  // whether the last review that was made failed; one that waits for a place was not made

	mu       sync.Mutex  // guards what follows
	kept     *results[V] // the positive ones
	negative *results[V]
	running  map[digest]*review[V]
}

// review is a review that runs.
type review[V any] struct {
	done   chan struct{} // closed when value and err are set
	value  V
	err    error
	cancel context.CancelFunc
	// waiting counts the callers that wait, guarded by reviews.mu.
	waiting int
	// known reports whether an earlier result was positive, or the review is part of a recheck. Such a
	// review goes on when its callers have left: they will come back for the result.
	known bool
}

// newReviews returns the reviews of a kind, in a process with so many bytes of memory.
func newReviews[V any](q *limits.Queue, m reviewMetrics, memory int64) *reviews[V] {
	bytes := min(max(minResultBytes, memory/resultPart), maxResultBytes)
	return &reviews[V]{
		queue: q, metrics: m, kept: newResults[V](int(bytes)), negative: newResults[V](negativeBytes),
		running: map[digest]*review[V]{},
	}
}

// get returns the value for a key, which ask determines unless a result is kept. The asker is for unknown
// reviews: of a key without a positive result, and not for a recheck.
//
// The error is a *reviewError, or a *limits.Refused of the asker. For one more TTL after a positive result has expired, get
// returns it if the review fails or takes longer than stalePatience: while the apiserver is slow or cannot be reached, known
// callers stay known. A read of any version gets it for staleFor, but only while reviews fail: slow ones prolong nothing.
func (r *reviews[V]) get(ctx context.Context, key digest, by asker, ask func(context.Context) (result[V], error)) (V, error) {
	r.mu.Lock()
	last, found := r.last(key)
	now := time.Now()
	if found && now.Before(last.expires) {
		r.mu.Unlock()
		return last.get(now, r.stale(ctx))
	}
	known := found && last.positive || isRecheck(ctx)
	if !known && by.hold != nil {
		r.mu.Unlock()
		held, end := context.WithCancelCause(ctx)
		defer end(nil)
		ctx = held
		grant, err := by.hold(func() { end(errCrowdedOut) })
		if err != nil {
			var none V
			return none, err
		}
		defer grant.Release()
		r.mu.Lock()
		if last, found = r.last(key); found && now.Before(last.expires) {
			r.mu.Unlock()
			return last.get(now, r.stale(ctx))
		}
	}
	ctx, span := trace.Start(ctx, r.metrics.kind+" review")
	defer span.End()
	running := r.join(ctx, key, known, by, ask)
	r.mu.Unlock()
	defer r.leave(key, running)
	if by.request != nil && !known {
		by.request.TokenReview.Began = now
		defer func() { by.request.TokenReview.Ended = time.Now() }()
	}
	usable := func() bool { return found && last.usable(now, r.stale(ctx)) }
	late := time.NewTimer(stalePatience)
	defer late.Stop()
	for {
		select {
		case <-running.done:
			if running.err != nil && usable() {
				return last.value, nil
			}
			return running.value, running.err
		case <-late.C:
			if usable() {
				return last.value, nil
			}
		case <-ctx.Done():
			var none V
			return none, &reviewError{context.Cause(ctx)}
		}
	}
}

// stale returns for how long after it has expired a result may be used that cannot be reviewed again.
func (r *reviews[V]) stale(ctx context.Context) time.Duration {
	if ctx.Value(staleKey{}) == nil || !r.failing.Load() {
		return 0
	}
	return time.Duration(r.staleFor.Load())
}

// last returns the last result for a key, which may have expired. The caller must hold mu.
func (r *reviews[V]) last(key digest) (result[V], bool) {
	if last, found := r.kept.get(key); found {
		return last, true
	}
	return r.negative.get(key)
}

// put keeps a result. The caller must hold mu.
func (r *reviews[V]) put(key digest, v result[V]) {
	r.drop(key)
	if v.positive {
		r.kept.put(key, v)
	} else {
		r.negative.put(key, v)
	}
}

// drop drops the result for a key. The caller must hold mu.
func (r *reviews[V]) drop(key digest) {
	r.kept.delete(key)
	r.negative.delete(key)
}

// recall returns the result that is kept for a key, and false if there is none.
func (r *reviews[V]) recall(key digest) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, found := r.last(key)
	return last.value, found && last.err == nil && time.Now().Before(last.expires)
}

// keep keeps a result for a key as if it had been reviewed, unless that would displace a result that has
// not expired: unlike reviews, its callers may be as fast as they like.
func (r *reviews[V]) keep(key digest, v result[V]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.kept.makeRoom(now, v.bytes+entryBytes) {
		r.put(key, v.at(now))
	}
}

// forget drops the result for a key, and keeps none of a review that runs: it may have been answered before.
func (r *reviews[V]) forget(key digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key)
	delete(r.running, key)
}

// join returns the review that runs for a key, or starts one. A known caller does not wait
// behind an unknown review. The caller must hold mu and call leave.
func (r *reviews[V]) join(caller context.Context, key digest, known bool, by asker,
	ask func(context.Context) (result[V], error)) *review[V] {
	v := r.running[key]
	if v == nil || known && !v.known {
		ctx, cancel := context.WithCancel(trace.Below(context.Background(), caller))
		v = &review[V]{done: make(chan struct{}), known: known, cancel: cancel}
		r.running[key] = v
		go r.run(ctx, key, v, by, ask)
	}
	v.waiting++
	return v
}

// leave cancels a review for which nobody waits, unless it is known.
func (r *reviews[V]) leave(key digest, v *review[V]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.waiting--
	if v.waiting > 0 || v.known {
		return
	}
	v.cancel()
	if r.running[key] == v {
		delete(r.running, key)
	}
}

// run makes a review. It ends at the latest after placeTimeout and reviewTimeout.
func (r *reviews[V]) run(ctx context.Context, key digest, v *review[V], by asker, ask func(context.Context) (result[V], error)) {
	defer v.cancel()
	got, err := r.ask(ctx, v.known, by, ask)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		v.err = &reviewError{err}
	} else {
		v.value = got.value
	}
	if r.running[key] == v { // otherwise a later review has the result to keep
		now := time.Now()
		refused := false // it got no place
		if err != nil {
			_, refused = errors.AsType[*limits.Refused](err)
		}
		switch {
		case err == nil:
			r.put(key, got.at(now))
		case !refused:
			last, _ := r.last(key) // it stays known
			if !last.lasting {
				last = result[V]{}
			}
			r.put(key, last.postponed(now, errRests))
		}
		delete(r.running, key)
	}
	close(v.done)
}

func (r *reviews[V]) ask(ctx context.Context, known bool, by asker,
	ask func(context.Context) (result[V], error)) (result[V], error) {
	waits, cancel := context.WithTimeout(ctx, placeTimeout)
	leave, err := r.queue.Enter(waits, limits.Caller{Group: by.caller.Group, Reserved: known}, 1)
	cancel()
	switch {
	case err != nil && by.hold != nil && ctx.Err() == nil:
		return result[V]{}, errCrowdedOut
	case err != nil:
		return result[V]{}, err
	}
	defer leave()
	ctx, cancel = context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	got, err := ask(ctx)
	if !errors.Is(err, context.Canceled) && !refusedAsSuch(err) {
		r.failing.Store(err != nil)
	}
	r.metrics.ended(ctx, got.positive, err)
	return got, err
}

// refusedAsSuch reports whether the apiserver has refused a review for what it contains. Callers choose that, so it tells
// nothing about other reviews.
func refusedAsSuch(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}
