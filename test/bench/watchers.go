package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/test/harness"
)

// watcher is an open watch and the arrival times of its events.
type watcher struct {
	body io.ReadCloser
	at   []time.Time // of each expected event
	n    atomic.Int64
	err  error // why the watch ended early; valid after watchers.close
}

// watchers are the watchers of a round.
type watchers struct {
	watchers []*watcher
	cancel   context.CancelFunc
	missing  atomic.Int64  // events
	all      chan struct{} // closed when no event is missing
	readers  sync.WaitGroup
}

// watchPath returns the path of a watch from version at a target.
func watchPath(t *target, version string) string {
	if t.name == floorName {
		return floorWatch
	}
	return "/api/v1/pods?watch=true&timeoutSeconds=3600&resourceVersion=" + version
}

// open opens the watches of a case, streams on each connection; each expects the given number of
// events.
func (c fanOut) open(ctx context.Context, t *target, version string, events int) (*watchers, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watchers{watchers: make([]*watcher, c.watchers), cancel: cancel, all: make(chan struct{})}
	w.missing.Store(int64(c.watchers * events))
	var g errgroup.Group
	for first := 0; first < c.watchers; first += streams {
		raw, err := t.connection(first / streams)
		if err != nil {
			return nil, err
		}
		g.Go(func() error {
			for i := first; i < min(first+streams, c.watchers); i++ {
				one, err := c.openOne(ctx, raw, watchPath(t, version), events)
				if err != nil {
					return err
				}
				w.watchers[i] = one
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		w.close()
		return nil, err
	}
	for _, one := range w.watchers {
		w.readers.Go(func() { one.read(w, c.frames()) })
	}
	return w, nil
}

func (c fanOut) openOne(ctx context.Context, raw *harness.RawClient, path string, events int) (*watcher, error) {
	resp, err := raw.Open(ctx, harness.Request{Path: path, Header: http.Header{"Accept": {c.watch}}})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("watch: %s", resp.Status)
	}
	return &watcher{body: resp.Body, at: make([]time.Time, events)}, nil
}

// read records the arrival times of events until the stream ends.
func (w *watcher) read(watchers *watchers, frames counter) {
	buf := make([]byte, 16<<10)
	for {
		n, err := w.body.Read(buf)
		now := time.Now()
		for range frames.count(buf[:n]) {
			i := w.n.Add(1) - 1
			if int(i) < len(w.at) {
				w.at[i] = now
			}
			if watchers.missing.Add(-1) == 0 {
				close(watchers.all)
			}
		}
		if err != nil {
			w.err = err
			return
		}
	}
}

// close closes the watches and returns an error if the server ended one.
func (w *watchers) close() error {
	w.cancel()
	w.readers.Wait()
	var err error
	for _, one := range w.watchers {
		if one == nil {
			continue
		}
		one.body.Close()
		if one.err != nil && !errors.Is(one.err, context.Canceled) {
			err = fmt.Errorf("the server ended a watch: %w", one.err)
		}
	}
	return err
}

// check verifies that each watcher received each event once.
func (w *watchers) check(events int) error {
	for i, one := range w.watchers {
		if n := one.n.Load(); n != int64(events) {
			return fmt.Errorf("watcher %d received %d events of %d", i, n, events)
		}
	}
	return nil
}

// delays returns the time from acknowledgement to arrival, of each event at each watcher.
func (w *watchers) delays(acknowledged []time.Time) []time.Duration {
	var all []time.Duration
	for _, one := range w.watchers {
		for i, at := range one.at {
			all = append(all, at.Sub(acknowledged[i]))
		}
	}
	return all
}
