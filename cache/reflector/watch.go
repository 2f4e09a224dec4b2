package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/cache"
)

// shortWatch is the duration below which a watch that ends in an orderly way counts as a failure,
// so that the next one is delayed.
const shortWatch = time.Second

// watch applies one watch after the other to the store until the session ends. A nil stream has yet
// to be opened.
func (r *Reflector) watch(ctx context.Context, stream Stream) error {
	for {
		if stream == nil {
			var err error
			if stream, err = r.resume(ctx); err != nil {
				return err
			}
		}
		opened := time.Now()
		err := r.applyLoop(stream)
		stream.Close()
		stream = nil
		if endsSession(err) || ctx.Err() != nil {
			return err
		}
		if !errors.Is(err, io.EOF) || time.Since(opened) < shortWatch {
			r.options.Report(fmt.Errorf("watch: %w", unexpected(err)))
			r.backoff.wait(ctx, err)
		}
	}
}

// endsSession reports whether the store cannot be continued after err.
func endsSession(err error) bool {
	for _, fatal := range []error{ErrExpired, ErrAbsent, ErrRebuild, ErrUnreadable, cache.ErrDiverged} {
		if errors.Is(err, fatal) {
			return true
		}
	}
	return false
}

// applyLoop applies the events of a watch to the store until the watch ends.
func (r *Reflector) applyLoop(stream Stream) error {
	r.connected.Store(true)
	r.lost.Store(0)
	r.contact.Store(time.Now().UnixNano())
	defer func() {
		r.store.Doubt()
		r.connected.Store(false)
		r.lost.Store(time.Now().UnixNano())
	}()
	for {
		event, err := stream.Next()
		if err != nil {
			return err
		}
		if err := r.apply(event); err != nil {
			return err
		}
		r.backoff.reset()
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
