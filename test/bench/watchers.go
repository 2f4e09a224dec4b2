package main

import (
	"compress/gzip"
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
	body countedBody
	in   io.Reader   // the decompressed body
	at   []time.Time // of each expected event
	n    atomic.Int64
	err  error // why the watch ended early; valid after watchers.close
}

// countedBody is a response body that counts what is read of it.
type countedBody struct {
	io.ReadCloser
	bytes atomic.Int64
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
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
	header := http.Header{"Accept": {c.watch}}
	if c.encoding != identity {
		header.Set("Accept-Encoding", c.encoding)
	}
	resp, err := raw.Open(ctx, harness.Request{Path: path, Header: header})
	if err != nil {
		return nil, err
	}
	w := &watcher{body: countedBody{ReadCloser: resp.Body}, at: make([]time.Time, events)}
	w.in = &w.body
	switch coding := codingOf(resp.Header); {
	case resp.StatusCode != http.StatusOK:
		err = fmt.Errorf("watch: %s", resp.Status)
	case coding == "gzip":
		w.in, err = gzip.NewReader(&w.body) // the package that net/http decompresses with
	case coding != identity:
		err = fmt.Errorf("watch in %s", coding)
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return w, nil
}

// read records the arrival times of events until the stream ends.
func (w *watcher) read(watchers *watchers, frames counter) {
	buf := make([]byte, 16<<10)
	for {
		n, err := w.in.Read(buf)
		now := time.Now()
		for range frames.count(buf[:n]) {
			if i := w.n.Load(); int(i) < len(w.at) {
				w.at[i] = now
			}
			w.n.Add(1) // last: who sees it may read the time
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

// bytes returns how many bytes the bodies had.
func (w *watchers) bytes() (n int64) {
	for _, one := range w.watchers {
		n += one.body.bytes.Load()
	}
	return n
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
