package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
)

// newSession returns the context of a session: the life of one store, from its list to the first
// event that may have been lost.
func (r *Reflector) newSession(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	session, end := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endSession = end
	return session, end
}

// listAndWatch runs one session.
func (r *Reflector) listAndWatch(ctx context.Context) error {
	stream, err := r.sync(ctx)
	if err != nil {
		return err
	}
	return r.watch(ctx, stream)
}

// publish creates a store of objects in the order of their keys, and publishes it.
func (r *Reflector) publish(objects []*tree.Object, version uint64) {
	r.store = cache.New(r.options.Store(), objects, version)
	r.took = time.Since(r.began)
	r.heldBack, r.cut = false, 0
	r.options.Publish(r.store.Store)
}

// sorted returns objects in the order of their keys.
func sorted(objects map[tree.Key]*tree.Object) []*tree.Object {
	return slices.SortedFunc(maps.Values(objects), func(a, b *tree.Object) int { return cmp.Compare(a.Key, b.Key) })
}

// unpublish unpublishes the store, if there is one, before it closes it, so that no reader finds a
// closed store.
func (r *Reflector) unpublish() {
	if r.store == nil {
		return
	}
	r.options.Publish(nil)
	r.store.Close()
	r.store = nil
}

// maxCut is how many streaming lists in a row may break off before a paginated list is tried, and after it streaming lists
// again: a proxy that cuts off long responses may let short pages through.
const maxCut = 2

// sync publishes a new store. It returns the watch that continues it, or nil if the watch has yet
// to be opened.
func (r *Reflector) sync(ctx context.Context) (Stream, error) {
	r.began = time.Now()
	if r.StreamingLists() && !r.heldBack && r.cut < maxCut {
		stream, err := r.watchList(ctx)
		r.noWatchList.Store(errors.Is(err, ErrUnsupported))
		if r.StreamingLists() && !errors.Is(err, ErrListInstead) {
			return stream, err
		}
		r.options.Report(err)
	}
	r.cut = 0
	return nil, r.list(ctx)
}

// list publishes a store of a list.
func (r *Reflector) list(ctx context.Context) error {
	objects := map[tree.Key]*tree.Object{}
	version, err := r.source.List(ctx, func(o *tree.Object) { objects[o.Key] = o })
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	r.publish(sorted(objects), version)
	return nil
}

// watchList publishes a store of a streaming list. Events may arrive among the initial events,
// before the bookmark that ends them.
func (r *Reflector) watchList(ctx context.Context) (Stream, error) {
	stream, err := r.source.WatchList(ctx)
	if err != nil {
		return nil, fmt.Errorf("streaming list: %w", err)
	}
	objects := map[tree.Key]*tree.Object{}
	for {
		event, err := stream.Next()
		switch {
		case err != nil:
			stream.Close()
			r.cut++
			return nil, fmt.Errorf("streaming list: %w", unexpected(err))
		case event.InitialEventsEnd:
			r.publish(sorted(objects), event.Version)
			return stream, nil
		case event.Type == cache.Deleted:
			delete(objects, event.Object.Key)
		case event.Type != 0:
			objects[event.Object.Key] = event.Object
		}
	}
}

// unexpected turns io.EOF into io.ErrUnexpectedEOF, for a watch that ended early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
