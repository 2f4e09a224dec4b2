package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/cache"
)

// Options sets up a feed.
type Options struct {
	// Store returns the options of a store that is about to be made; nil
	// means the defaults.
	Store func() cache.Options
	// Publish is called with a store once it is in sync, and with nil before
	// that store is closed. It is never called concurrently.
	Publish func(*cache.Store)
	// Report is told what goes wrong and is tried again; nil ignores it.
	Report func(error)
	// Received is told of each change that was applied; nil ignores it.
	Received func(Event)
}

// Reflector fills the stores of one resource, one after the other.
type Reflector struct {
	source  ListerWatcher
	options Options
	store   *cache.Store // nil while not in sync
	pause   backoff
	lists   bool // the upstream has no streaming lists

	connected atomic.Bool
	contact   atomic.Int64 // UnixNano of the last change
	lost      atomic.Int64 // UnixNano of when the last stream ended; 0 while one is open

	mu    sync.Mutex
	abort context.CancelCauseFunc // ends the present line of history; guarded by mu
}

// New returns a feed that reads source.
func New(source ListerWatcher, options Options) *Reflector {
	if options.Report == nil {
		options.Report = func(error) {}
	}
	if options.Store == nil {
		options.Store = func() cache.Options { return cache.Options{} }
	}
	if options.Received == nil {
		options.Received = func(Event) {}
	}
	return &Reflector{source: source, options: options}
}

// Connected reports whether a stream is open, and when the last change came.
func (f *Reflector) Connected() (bool, time.Time) {
	return f.connected.Load(), time.Unix(0, f.contact.Load())
}

// DisconnectedFor returns for how long no stream has been open: about as old may the
// store be.
func (f *Reflector) DisconnectedFor() time.Duration {
	if lost := f.lost.Load(); lost != 0 {
		return time.Since(time.Unix(0, lost))
	}
	return 0
}

// Rebuild gives up the present store, for the given reason, and makes another.
func (f *Reflector) Rebuild(reason error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.abort != nil {
		f.abort(fmt.Errorf("%w: %w", reason, ErrRebuild))
	}
}

// line returns the context of a new line of history.
func (f *Reflector) line(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	line, abort := context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.abort = abort
	return line, abort
}

// Run feeds until the context ends, and then returns nil, or until the
// upstream turns out not to serve the resource: an error wrapping ErrAbsent.
func (f *Reflector) Run(ctx context.Context) error {
	defer f.retract()
	for {
		line, end := f.line(ctx)
		stream, err := f.sync(line)
		if err == nil {
			err = f.follow(line, stream)
		}
		if cause := context.Cause(line); cause != nil {
			err = cause
		}
		end(nil)
		f.retract()
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, ErrAbsent) {
			return err
		}
		f.options.Report(err)
		f.pause.wait(ctx, err)
	}
}

func (f *Reflector) publish(objects map[cache.Key]*cache.Object, version uint64) {
	sorted := make([]*cache.Object, 0, len(objects))
	for _, o := range objects {
		sorted = append(sorted, o)
	}
	slices.SortFunc(sorted, func(a, b *cache.Object) int { return cmp.Compare(a.Key, b.Key) })
	f.store = cache.New(f.options.Store(), sorted, version)
	f.options.Publish(f.store)
}

// retract withdraws the store, if there is one, before it ends: nobody can
// find a store that is closed and take it for one that lives.
func (f *Reflector) retract() {
	if f.store == nil {
		return
	}
	f.options.Publish(nil)
	f.store.Close()
	f.store = nil
}

// sync publishes a new store and returns the stream that continues it, which
// is nil if it has still to be opened.
func (f *Reflector) sync(ctx context.Context) (Stream, error) {
	if !f.lists {
		stream, err := f.syncByWatch(ctx)
		if !errors.Is(err, ErrUnsupported) {
			return stream, err
		}
		f.lists = true
	}
	objects := map[cache.Key]*cache.Object{}
	version, err := f.source.List(ctx, func(o *cache.Object) { objects[o.Key] = o })
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	f.publish(objects, version)
	return nil, nil
}

// syncByWatch reads the state from a streaming list. Changes may already be
// among it before the closing bookmark comes.
func (f *Reflector) syncByWatch(ctx context.Context) (Stream, error) {
	stream, err := f.source.WatchList(ctx)
	if err != nil {
		return nil, fmt.Errorf("streaming list: %w", err)
	}
	objects := map[cache.Key]*cache.Object{}
	for {
		change, err := stream.Next()
		switch {
		case err != nil:
			stream.Close()
			return nil, fmt.Errorf("streaming list: %w", unexpected(err))
		case change.InitialEventsEnd:
			f.publish(objects, change.Version)
			return stream, nil
		case change.Type == cache.Deleted:
			delete(objects, change.Object.Key)
		case change.Type != 0:
			objects[change.Object.Key] = change.Object
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// follow applies streams to the store, one after the other, until the line of
// history is broken.
func (f *Reflector) follow(ctx context.Context, stream Stream) error {
	for {
		if stream == nil {
			var err error
			if stream, err = f.resume(ctx); err != nil {
				return err
			}
		}
		opened := time.Now()
		err := f.drain(stream)
		stream.Close()
		stream = nil
		if broken(err) || ctx.Err() != nil {
			return err
		}
		if !errors.Is(err, io.EOF) || time.Since(opened) < time.Second {
			f.options.Report(fmt.Errorf("watch: %w", unexpected(err)))
			f.pause.wait(ctx, err)
		}
	}
}

// resume opens a stream from the store's version, however long that takes.
func (f *Reflector) resume(ctx context.Context) (Stream, error) {
	for {
		stream, err := f.source.Watch(ctx, f.store.Snapshot().Version)
		if err == nil || broken(err) || ctx.Err() != nil {
			return stream, err
		}
		f.options.Report(fmt.Errorf("watch: %w", err))
		f.pause.wait(ctx, err)
	}
}

// broken reports whether err means that the store cannot be continued.
func broken(err error) bool {
	for _, fatal := range []error{ErrExpired, ErrAbsent, ErrForbidden, ErrRebuild, cache.ErrDiverged} {
		if errors.Is(err, fatal) {
			return true
		}
	}
	return false
}

// drain applies the stream to the store until it ends.
func (f *Reflector) drain(stream Stream) error {
	f.connected.Store(true)
	f.lost.Store(0)
	f.contact.Store(time.Now().UnixNano())
	defer func() {
		f.connected.Store(false)
		f.lost.Store(time.Now().UnixNano())
	}()
	for {
		change, err := stream.Next()
		if err != nil {
			return err
		}
		if err := f.apply(change); err != nil {
			return err
		}
		f.pause.reset()
	}
}

func (f *Reflector) apply(change Event) error {
	now := time.Now()
	f.contact.Store(now.UnixNano())
	var err error
	if change.Type == 0 {
		err = f.store.ApplyBookmark(change.Version)
	} else {
		err = f.store.Apply(change.Type, change.Object, now)
	}
	if err == nil {
		f.options.Received(change)
	}
	return err
}
