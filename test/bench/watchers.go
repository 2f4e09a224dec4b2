package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// watching is many watches of pods in one format and content encoding.
type watching struct {
	format
	encoding string
	watchers int
}

// watcher is an open watch and the arrival times of its events.
type watcher struct {
	body *countedBody
	in   io.Reader   // the decompressed body
	at   []time.Time // of each expected event
	n    atomic.Int64
	err  error // why the watch ended early; valid after watchers.close
}

// watchers are watches that are open at the same time.
type watchers struct {
	watchers []*watcher
	cancel   context.CancelFunc
	readers  sync.WaitGroup
}

// deliverLimit bounds the time from the last update to its last event.
const deliverLimit = 3 * time.Minute

// pathAt returns the path of a watch from a version at a target.
func (c watching) pathAt(t *target, version string) string {
	if t.name == floorName {
		return floorWatch
	}
	return "/api/v1/pods?watch=true&timeoutSeconds=3600&resourceVersion=" + version
}

// open opens the watches, streams on each connection; each expects the given number of events.
func (c watching) open(ctx context.Context, t *target, version string, events int) *watchers {
	ctx, cancel := context.WithCancel(ctx)
	w := &watchers{watchers: make([]*watcher, c.watchers), cancel: cancel}
	g, _ := newGroup(ctx, -1)
	for first := 0; first < c.watchers; first += streams {
		raw := t.connection(first / streams)
		g.run(func() {
			for i := first; i < min(first+streams, c.watchers); i++ {
				w.watchers[i] = c.openOne(ctx, raw, c.pathAt(t, version), events)
			}
		})
	}
	if err := g.Wait(); err != nil {
		check(errors.Join(err, w.close()))
	}
	for _, one := range w.watchers {
		w.readers.Go(func() { one.read(framesOf(one.in, c.frames)) })
	}
	return w
}

func (c watching) openOne(ctx context.Context, raw *harness.RawClient, path string, events int) *watcher {
	body := open(ctx, raw, path, accepting(c.watch, c.encoding))
	return &watcher{body: body, in: body.unpacked(), at: make([]time.Time, events)}
}

// read records the arrival times of events until the stream ends.
func (w *watcher) read(frames *bufio.Scanner) {
	for frames.Scan() {
		if i := w.n.Load(); int(i) < len(w.at) {
			w.at[i] = time.Now()
		}
		w.n.Add(1) // last: the time may be read then
	}
	w.err = endOf(frames)
}

// wait waits until each watch has received n events.
func (w *watchers) wait(ctx context.Context, n int) {
	check(harness.Poll(ctx, func() error {
		for i, one := range w.watchers {
			if got := one.n.Load(); got < int64(n) {
				return fmt.Errorf("watch %d has received %d events of %d", i, got, n)
			}
		}
		return nil
	}))
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

// openStalled opens watches that never read, until ctx ends.
func openStalled(ctx context.Context, t *target, path string, n int) {
	for first := 0; first < n; first += streams {
		client := narrowClient(t.config)
		context.AfterFunc(ctx, client.CloseIdleConnections)
		for range min(streams, n-first) {
			req := must(http.NewRequestWithContext(ctx, http.MethodGet, t.config.Host+path, nil))
			req.Header = http.Header{"Authorization": {"Bearer " + t.config.BearerToken}, "Accept": {jsonType}}
			resp := must(client.Do(req))
			context.AfterFunc(ctx, func() { resp.Body.Close() })
			if resp.StatusCode != http.StatusOK {
				check(fmt.Errorf("watch: %s", resp.Status))
			}
		}
	}
}

// narrowWindow is how many bytes of a response a client takes that does not read it: less than ten events
// of a pod.
const narrowWindow = 64 << 10

// narrowClient returns a client whose flow control stops a server soon after its caller stops to read.
func narrowClient(config *rest.Config) *http.Client {
	t := &http.Transport{
		TLSClientConfig: must(rest.TLSConfigFor(config)), DisableCompression: true, Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: narrowWindow},
	}
	t.Protocols.SetHTTP2(true)
	return &http.Client{Transport: t}
}
