package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/cache"
)

const (
	// shortWatch is the duration below which a watch that has ended counts as a failure, also if it delivered events and
	// ended in an orderly way: the next one is delayed.
	shortWatch = time.Second
	// A watch counts as a failure, too, if it lasted less than restFactor times as long as it took to open it, which may
	// include an inventory. The same time bounds the delay of the next watch, if it delivered an event. So a proxy that cuts
	// each watch after an event does not make the apiserver list a large resource again and again, and delays the events of
	// a small one little.
	restFactor = 10
	// longWatch is the duration from which no watch counts as a failure: opening it may have waited for other stores.
	longWatch = 5 * time.Minute
)

// watch applies one watch after the other to the store until the session ends. A nil stream has yet
// to be opened.
func (r *Reflector) watch(ctx context.Context, stream Stream) error {
	took := r.took
	for {
		if stream == nil {
			var err error
			if stream, took, err = r.resume(ctx); err != nil {
				return err
			}
		}
		opened, enough := time.Now(), rest(took)
		delivered, err := r.applyLoop(stream)
		stream.Close()
		stream = nil
		short := time.Since(opened) < enough
		if !short {
			r.backoff.reset()
		}
		if endsSession(err) || ctx.Err() != nil {
			return err
		}
		if !errors.Is(err, io.EOF) || short {
			r.options.Report(fmt.Errorf("watch: %w", unexpected(err)))
			if delivered {
				r.backoff.limit(enough)
			}
			r.backoff.wait(ctx, err)
		}
	}
}

// rest returns the duration below which a watch, or a store, counts as a failure, by the time that its opening, or fill, took.
func rest(took time.Duration) time.Duration { return min(max(shortWatch, restFactor*took), longWatch) }

// endsSession reports whether the store cannot be continued after err.
func endsSession(err error) bool {
	for _, fatal := range []error{ErrExpired, ErrAbsent, ErrRebuild, ErrUnreadable, cache.ErrDiverged} {
		if errors.Is(err, fatal) {
			return true
		}
	}
	return false
}

// applyLoop applies the events of a watch to the store until the watch ends, and reports whether there were any.
func (r *Reflector) applyLoop(stream Stream) (delivered bool, err error) {
	r.opened()
	if r.store.Doubtful() {
		defer r.endUnexplained(r.store)()
	}
	defer func() {
		r.store.Doubt()
		r.closed()
	}()
	for {
		event, err := stream.Next()
		if err != nil {
			return delivered, err
		}
		if err := r.apply(event); err != nil {
			return delivered, err
		}
		delivered = delivered || event.Type != 0
	}
}

func (r *Reflector) apply(event Event) error {
	now := time.Now()
	r.contact.Store(now.UnixNano())
	var err error
	if event.Type == 0 {
		err = r.store.ApplyBookmark(event.Version)
	} else {
		err = r.store.Apply(event.Type, event.Object, now)
	}
	if err == nil {
		r.known.Store(now.UnixNano())
		r.options.Received(event)
	}
	return err
}
