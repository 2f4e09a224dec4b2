package reflector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sluice/cache"
)

// Options sets up a reflector. Publish is required.
type Options struct {
	// Store returns the options of a store that is about to be created; nil means no limits.
	Store func() cache.Options
	// Publish is called with a store once it is in sync, and with nil before that store is
	// closed. It is never called concurrently.
	Publish func(*cache.Store)
	// Report is called with each error that the reflector retries; nil ignores them.
	Report func(error)
	// Ended is called with the reason before a published store is withdrawn; nil ignores it.
	Ended func(error)
	// Received is called with each event and bookmark that was applied; nil ignores them.
	Received func(Event)
}

// Reflector fills one store after the other with the state of one resource.
type Reflector struct {
	source      ListerWatcher
	options     Options
	store       *cache.Writer // nil while none is published
	began       time.Time     // when the store began to be read
	took        time.Duration // of the last fill
	backoff     backoff
	unreadable  backoff     // after ErrUnreadable; never reset: the next unreadable event may come as soon
	noWatchList atomic.Bool // the apiserver has no streaming lists
	heldBack    bool        // no store has been published since cache.ErrHeldBack
	cut         int         // streaming lists in a row that broke off or could not be read

	link

	mu         sync.Mutex
	endSession context.CancelCauseFunc // of the present session; guarded by mu
}

// New returns a reflector of source. It does nothing until Run is called.
func New(source ListerWatcher, options Options) *Reflector {
	if options.Report == nil {
		options.Report = func(error) {}
	}
	if options.Store == nil {
		options.Store = func() cache.Options { return cache.Options{} }
	}
	if options.Ended == nil {
		options.Ended = func(error) {}
	}
	if options.Received == nil {
		options.Received = func(Event) {}
	}
	return &Reflector{source: source, options: options}
}

// StreamingLists reports whether the apiserver has streaming lists, as far as is known.
func (r *Reflector) StreamingLists() bool { return !r.noWatchList.Load() }

// Began returns when the store that is being published began to be read from the apiserver, so that it
// shows everything that was committed by then. Only Publish may call it.
func (r *Reflector) Began() time.Time { return r.began }

// Rebuild closes the store and starts a new session, for the given reason.
func (r *Reflector) Rebuild(reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endSession != nil {
		r.endSession(fmt.Errorf("%w: %w", reason, ErrRebuild))
	}
}

// Run lists and watches until the context ends, and then returns nil, or until the apiserver does
// not serve the resource, and then returns an error wrapping ErrAbsent.
func (r *Reflector) Run(ctx context.Context) error {
	defer r.unpublish()
	for {
		session, end := r.newSession(ctx)
		err := r.listAndWatch(session)
		if cause := context.Cause(session); cause != nil {
			err = cause
		}
		end(nil)
		if r.store != nil {
			r.options.Ended(err)
			if errors.Is(err, ErrExpired) && time.Since(r.began) > rest(r.took) {
				r.backoff.reset() // the apiserver answers again: earlier failures no longer count
			}
		}
		r.unpublish()
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, ErrAbsent) {
			return err
		}
		r.options.Report(err)
		r.heldBack = r.heldBack || errors.Is(err, cache.ErrHeldBack)
		switch {
		case errors.Is(err, ErrUnreadable):
			r.unreadable.wait(ctx, err)
		case errors.Is(err, cache.ErrHeldBack): // readers wait for what the apiserver has just been able to list
			r.backoff.limit(r.took)
			r.backoff.wait(ctx, err)
		default:
			r.backoff.wait(ctx, err)
		}
	}
}
