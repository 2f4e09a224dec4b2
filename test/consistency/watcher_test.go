package consistency

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/test/consistency/history"
)

// watcher follows a part of a resource as a reflector does: from a state, over
// as many connections as it takes, until it is told that its version is gone.
type watcher struct {
	resource
	name   string
	server *server
	rec    *recorder
	rnd    *rand.Rand
	scope  history.Scope

	line  *history.Watch
	last  atomic.Uint64 // version that it was told last
	until atomic.Uint64 // version that it has to be told in the end
	gone  int           // how often it had to start anew
}

// A watch is asked to end within shortestLife to longestLife, in seconds; some
// of them get a bookmark before that. One that goes on overtime is given up.
const (
	shortestLife = 3
	longestLife  = 15
	overtime     = 20 * time.Second
)

// The names under which watchers are counted.
const (
	watchKind       = "watch"
	watchListKind   = "watch, list before"
	watchStreamKind = "watch, stream before"
)

// run follows until the context ends.
func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		open, err := w.begin(ctx)
		if err == nil {
			if err = w.follow(ctx, open); gone(err) {
				w.gone++
			} else {
				w.line.Until = w.until.Load()
			}
			w.rec.watched(*w.line)
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

// begin takes the state from a list or from a streaming list, which it returns
// to be read on.
func (w *watcher) begin(ctx context.Context) (*events, error) {
	if w.rnd.IntN(2) == 0 {
		return w.beginStream(ctx)
	}
	q := query(w.scope)
	read := history.Read{Client: w.name, Scope: w.scope, Promise: history.Promise{Fresh: true}}
	if w.rnd.IntN(2) == 0 {
		q.Set("resourceVersion", "0")
		read.Promise = history.Promise{}
	}
	read.Began = w.rec.clock.Now()
	page, _, err := w.server.list(ctx, w.path(w.scope.Namespace, ""), q, false)
	if err != nil {
		return nil, err
	}
	read.Ended, read.Pages = w.rec.clock.Now(), []history.Page{page}
	w.rec.listed(watchListKind, read)
	w.start(page.Version)
	return nil, nil
}

func (w *watcher) beginStream(ctx context.Context) (*events, error) {
	read := history.Read{Client: w.name, Scope: w.scope, Promise: history.Promise{Fresh: true}, Began: w.rec.clock.Now()}
	open, err := w.open(ctx, streaming(query(w.scope)))
	if err != nil {
		return nil, err
	}
	if read.Stream, err = state(open, w.rec.clock); err != nil {
		open.close()
		return nil, err
	}
	read.Ended = w.rec.clock.Now()
	w.rec.listed(watchStreamKind, read)
	w.start(read.Stream[len(read.Stream)-1].Version)
	return open, nil
}

func (w *watcher) start(version uint64) {
	w.line = &history.Watch{Client: w.name, Scope: w.scope, From: version}
	w.last.Store(version)
}

// open opens a watch that ends after a random while.
func (w *watcher) open(ctx context.Context, q url.Values) (*events, error) {
	life := shortestLife + w.rnd.IntN(longestLife-shortestLife+1)
	q.Set("timeoutSeconds", strconv.Itoa(life))
	q.Set("allowWatchBookmarks", "true")
	ctx, cancel := context.WithTimeout(ctx, time.Duration(life)*time.Second+overtime)
	open, err := w.server.watch(ctx, w.path(w.scope.Namespace, ""), q)
	if err != nil {
		cancel()
		return nil, err
	}
	open.body = body{open.body, cancel}
	return open, nil
}

// body is one whose request ends when it is closed.
type body struct {
	io.Closer
	cancel context.CancelFunc
}

func (b body) Close() error {
	b.cancel()
	return b.Closer.Close()
}

// follow reads on from open, or with nil from the last version, again and
// again, until that is gone or the context ends.
func (w *watcher) follow(ctx context.Context, open *events) error {
	for stream := 0; ctx.Err() == nil; stream++ {
		var err error
		if open == nil {
			open, err = w.open(ctx, w.resume())
		}
		if err == nil {
			w.rec.opened(watchKind, open.source)
			err = w.read(open, stream)
			open.close()
			open = nil
		}
		if gone(err) {
			return err
		}
		if errors.Is(err, io.EOF) {
			err = nil // a watch has to end some time
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

// read reads a stream to its end, which is an error.
func (w *watcher) read(open *events, stream int) error {
	for {
		item, _, err := open.next()
		if err != nil {
			return err
		}
		item.At, item.Stream = w.rec.clock.Now(), stream
		w.line.Items = append(w.line.Items, item)
		w.last.Store(max(item.Version, w.last.Load()))
	}
}
