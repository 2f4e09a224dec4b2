package consistency

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/test/consistency/history"
)

// watcher lists and watches a scope as a reflector does: it resumes its watch on new connections
// until it receives 410 Gone.
type watcher struct {
	client
	scope history.Scope

	watch *history.Watch
	last  atomic.Uint64 // version that it received last
	until atomic.Uint64 // version that it must receive in the end
	gone  int           // number of 410 Gone
}

// A watch has a timeoutSeconds between minWatchSeconds and maxWatchSeconds, so that some watches
// get a bookmark before they end. The watcher closes a watch that exceeds it by watchGrace.
const (
	minWatchSeconds = 3
	maxWatchSeconds = 15
	watchGrace      = 20 * time.Second
)

// The kinds of reads of watchers.
const (
	watchKind       = "watch"
	watchListKind   = "watch, list before"
	watchStreamKind = "watch, stream before"
)

// run lists and watches until the context ends.
func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		open, err := w.begin(ctx)
		if err == nil {
			if err = w.follow(ctx, open); gone(err) {
				w.gone++
			} else {
				w.watch.Until = w.until.Load()
			}
			w.rec.watched(*w.watch)
		}
		w.failed(ctx, err)
	}
}

func (w *watcher) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	w.rec.failed(watchKind, err)
	wait(ctx, 50*time.Millisecond)
}

// begin reads the state from a list, or from a streaming list, which it returns.
func (w *watcher) begin(ctx context.Context) (*events, error) {
	if w.rnd.IntN(2) == 0 {
		return w.beginStream(ctx)
	}
	q, p := query(w.scope), history.Consistency{MostRecent: true}
	if w.rnd.IntN(2) == 0 {
		q.Set("resourceVersion", "0")
		p = history.Consistency{}
	}
	version, err := w.list(ctx, watchListKind, w.scope, p, q)
	if err == nil {
		w.start(version)
	}
	return nil, err
}

func (w *watcher) beginStream(ctx context.Context) (*events, error) {
	read := w.begun(w.scope, history.Consistency{MostRecent: true})
	open, err := w.open(ctx, streaming(query(w.scope)))
	if err != nil {
		return nil, err
	}
	version, err := w.streamed(watchStreamKind, read, open)
	if err != nil {
		open.close()
		return nil, err
	}
	w.start(version)
	return open, nil
}

func (w *watcher) start(version uint64) {
	w.watch = &history.Watch{Client: w.name, Scope: w.scope, From: version}
	w.last.Store(version)
}

// open opens a watch with a random timeout.
func (w *watcher) open(ctx context.Context, q url.Values) (*events, error) {
	life := minWatchSeconds + w.rnd.IntN(maxWatchSeconds-minWatchSeconds+1)
	q.Set("timeoutSeconds", strconv.Itoa(life))
	q.Set("allowWatchBookmarks", "true")
	ctx, cancel := context.WithTimeout(ctx, time.Duration(life)*time.Second+watchGrace)
	open, err := w.server.watch(ctx, w.path(w.scope.Namespace, ""), q)
	if err != nil {
		cancel()
		return nil, err
	}
	closeBody := open.close
	open.close = func() { cancel(); closeBody() }
	return open, nil
}

// follow reads open, or if it is nil a new watch, and resumes the watch until it receives 410 Gone
// or the context ends.
func (w *watcher) follow(ctx context.Context, open *events) error {
	for stream := 0; ctx.Err() == nil; stream++ {
		var err error
		if open == nil {
			open, err = w.open(ctx, w.resume())
		}
		if err == nil {
			w.rec.count(watchKind, open.source)
			err = w.read(open, stream)
			open.close()
			open = nil
		}
		if gone(err) {
			return err
		}
		if errors.Is(err, io.EOF) {
			err = nil // the end of a watch is no failure
		}
		w.failed(ctx, err)
	}
	return nil
}

func (w *watcher) resume() url.Values {
	q := query(w.scope)
	q.Set("resourceVersion", strconv.FormatUint(w.last.Load(), 10))
	return q
}

// read reads a watch to its end and returns the error that ended it.
func (w *watcher) read(open *events, stream int) error {
	for {
		item, _, err := open.next()
		if err != nil {
			return err
		}
		item.At, item.Stream = w.rec.clock.Now(), stream
		w.watch.Items = append(w.watch.Items, item)
		w.last.Store(max(item.Version, w.last.Load()))
	}
}
