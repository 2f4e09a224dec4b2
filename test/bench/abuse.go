package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/abuse"
	"sluice/test/harness"
)

const (
	// usersPerConnection is how many users share a connection, each with a watch and now and then a list.
	usersPerConnection = 40
	// warmUp is the time before a measurement in which nothing starts any more.
	warmUp = 10 * time.Second
)

// abuses measures the abusive user, the attacks, the crowd and the controller, as far as --only selects them.
func (w *world) abuses(ctx context.Context, r *report) {
	if w.only.matches("abusive user") {
		w.abuse(ctx, r)
	}
	w.attacks(ctx, r)
	w.crowds(ctx, r)
	w.controllers(ctx, r)
}

// isolate gives the first CPU to a server, and the others to the other servers and the clients: latencies are not
// those of clients which wait for a CPU.
func (w *world) isolate(t *target, others ...*target) {
	pin(true, self(), w.apiserver.proc)
	for _, other := range others {
		pin(true, other.proc)
	}
	pin(false, t.proc)
}

// abuse measures the lists of many users, who each have a token and an open watch, without and with
// one user who lists far more often than the others, and all pods instead of those of a node, at
// the apiserver and at a Sluice with default limits.
func (w *world) abuse(ctx context.Context, r *report) {
	tokens := w.podReaders(ctx, w.users+1)
	w.withCachedPods(ctx, harness.SluiceOptions{}, func(limited *target) {
		direct := w.direct(harness.Anonymous)
		defer direct.close()
		for _, t := range []*target{direct, limited} {
			w.isolate(t, limited)
			var row *row
			if err := try(func() { row = w.abuseAt(ctx, t, tokens) }); err != nil {
				check(fmt.Errorf("abuse at %s: %w", t.name, err))
			}
			r.add(row)
		}
	})
}

// abuseAt measures one target. The last token is the abusive user's.
func (w *world) abuseAt(ctx context.Context, t *target, tokens []string) *row {
	progress("%d users at the %s", w.users, t.name)
	others, abuser := tokens[:w.users], tokens[w.users]
	t.connection(w.users / usersPerConnection) // goroutines may share only connections that exist
	lists := &abuseLists{}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i, token := range others {
		raw := t.connections[i/usersPerConnection]
		selector := "fieldSelector=" + url.QueryEscape("spec.nodeName="+w.node(i))
		first := w.listEvery * time.Duration(i) / time.Duration(len(others)) // spread over the interval
		running.Go(func() {
			if slept(ctx, first) {
				lists.watchAlong(ctx, raw, token, selector)
			}
		})
		running.Go(func() {
			if slept(ctx, first) {
				lists.repeat(ctx, raw, token, "/api/v1/pods?resourceVersion=0&"+selector, w.listEvery)
			}
		})
	}
	sleep(ctx, w.listEvery+warmUp)
	r := newRow(abuseTable, fmt.Sprintf("%d every %gs at the %s", w.users, w.listEvery.Seconds(), t.name))
	r.Target, r.Clients = t.name, w.users
	r.By[quietly] = lists.measure(ctx, t.proc, w.abuseWindow)
	r.By[abuserCommand] = new(figures)
	a := startOrder(abuserCommand, abuserOrder{*abuseTarget(t), abuser, w.listEvery / time.Duration(w.abuseFactor)})
	err := try(func() {
		sleep(ctx, warmUp)
		r.By[attacked] = lists.measure(ctx, t.proc, w.abuseWindow)
	})
	check(errors.Join(err, a.stop(r.By[abuserCommand])))
	return r
}

// watchAlong keeps a watch open until ctx ends.
func (l *abuseLists) watchAlong(ctx context.Context, raw *harness.RawClient, token, selector string) {
	buffer := make([]byte, 4096)
	for ctx.Err() == nil {
		resp, err := raw.Open(ctx, withBearer(token, "/api/v1/pods?watch=1&resourceVersion=0&allowWatchBookmarks=true&"+selector))
		if err == nil && resp.StatusCode == http.StatusOK {
			l.watches.Add(1)
			for err == nil {
				_, err = resp.Body.Read(buffer)
			}
			l.watches.Add(-1)
		}
		if resp != nil {
			resp.Body.Close()
		}
		slept(ctx, time.Second)
	}
}

func withBearer(token, path string) harness.Request {
	return harness.Request{Path: path, Header: http.Header{"Authorization": {"Bearer " + token}, "Accept": {protobufType}}}
}

// abuseLists gathers the lists of some users.
type abuseLists struct {
	watches atomic.Int64 // that are open

	mu     sync.Mutex // guards what follows
	walls  []time.Duration
	bytes  int64
	failed tally // by the reason
}

// drain does one list and drops what it reads.
func (l *abuseLists) drain(ctx context.Context, raw *harness.RawClient, token, path string) {
	start := time.Now()
	resp, err := raw.Open(ctx, withBearer(token, path))
	var n int64
	if err == nil {
		n, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	wall := time.Since(start)
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil && resp.StatusCode == http.StatusOK:
		l.walls = append(l.walls, wall)
		l.bytes += n
		return
	case err == nil:
		err = fmt.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Sluice-Source"))
	}
	if l.failed == nil {
		l.failed = tally{}
	}
	l.failed[err.Error()]++
}

// repeat lists until ctx ends.
func (l *abuseLists) repeat(ctx context.Context, raw *harness.RawClient, token, path string, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		l.drain(ctx, raw, token, path)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// take returns the figures of the lists since the last call.
func (l *abuseLists) take() *figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &figures{Watches: int(l.watches.Load()), Bytes: float64(l.bytes), Counts: l.failed}
	f.timed(l.walls)
	l.walls, l.bytes, l.failed = nil, 0, nil
	return f
}

// measure returns the figures of a window, and what the server uses of a CPU in it. It fails if no list succeeds.
func (l *abuseLists) measure(ctx context.Context, server proc, window time.Duration) *figures {
	l.take()
	before := server.cpu()
	sleep(ctx, window)
	f := l.take()
	if f.Requests == 0 {
		check(fmt.Errorf("no list has succeeded: %s", f.reasons()))
	}
	f.Share = (server.cpu() - before).Seconds() / window.Seconds()
	return f
}

const (
	abuserCommand = "abuser" // the argument that makes this program the abusive user's child process
	// abuserConnections is how many connections the abusive user has.
	abuserConnections = 8
)

// abuserOrder is what the child that lists far more often than other users reads from stdin. It has the lowest
// priority, so that it takes only CPU time that the clients of the others leave: what remains is what it costs the
// server.
type abuserOrder struct {
	Target abuse.Target
	Token  string
	Every  time.Duration // a list starts
}

// runAbuser runs in the child process and lists until stdin ends.
func runAbuser(ctx context.Context, _ []string, stdin io.Reader, out io.Writer) {
	var order abuserOrder
	ctx, cancel := takeOrder(ctx, stdin, &order)
	defer cancel()
	self().lowestPriority()
	config := &rest.Config{Host: order.Target.URL, TLSClientConfig: rest.TLSClientConfig{CAData: order.Target.CA}}
	var connections []*harness.RawClient
	for range abuserConnections {
		connections = append(connections, must(harness.NewRawClient(config)))
	}
	lists := &abuseLists{}
	lists.flood(ctx, connections, order.Token, order.Every)
	check(json.NewEncoder(out).Encode(lists.take()))
}

// flood starts a list of all pods again and again, whether those before have ended or not, until ctx ends.
func (l *abuseLists) flood(ctx context.Context, connections []*harness.RawClient, token string, every time.Duration) {
	var running sync.WaitGroup
	defer running.Wait()
	places := make(chan struct{}, streams*len(connections))
	t := time.NewTicker(every)
	defer t.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		select {
		case places <- struct{}{}:
			running.Go(func() {
				defer func() { <-places }()
				l.drain(ctx, connections[i%len(connections)], token, "/api/v1/pods?resourceVersion=0")
			})
		default: // the server is that slow
		}
	}
}
