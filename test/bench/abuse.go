package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"sluice/test/harness"
)

const (
	// usersPerConnection is how many users share a connection, each with a watch and now and then a list.
	usersPerConnection = 40
	// warmUp is the time before a measurement in which nothing starts any more.
	warmUp = 10 * time.Second
)

// abuses measures the abusive user, the attacks, the crowd and the controller, as far as --only selects them.
func (e *env) abuses(ctx context.Context, r *report) error {
	if e.only.matches("abusive user") {
		if err := e.abuse(ctx, r); err != nil {
			return err
		}
	}
	if err := e.attacks(ctx, r); err != nil {
		return err
	}
	if err := e.crowds(ctx, r); err != nil {
		return err
	}
	return e.controllers(ctx, r)
}

// abuse measures the lists of many users, who each have a token and an open watch, without and with
// one user who lists far more often than the others, and all pods instead of those of a node, at
// the apiserver and at a Sluice with default limits. The server has a CPU of its own, so that the
// latencies are not those of clients which wait for a CPU.
func (e *env) abuse(ctx context.Context, r *report) error {
	tokens, err := e.serviceAccounts(ctx, e.users+1)
	if err != nil {
		return err
	}
	s, err := e.controlPlane.StartSluiceMain(harness.SluiceOptions{Binary: "sluice", Flags: []string{"--log-level=error"}})
	if err != nil {
		return err
	}
	limited := &target{name: sluiceName, proc: proc(s.PID()), config: s.RESTConfig(harness.Anonymous), sluice: s}
	direct := &target{name: apiserverName, proc: e.apiserver.proc, config: e.controlPlane.RESTConfig(harness.Anonymous)}
	defer func() {
		limited.close()
		direct.close()
		if err := s.Stop(); err != nil {
			progress("stop: %v", err)
		}
	}()
	if err := e.waitForCacheSync(ctx, s); err != nil {
		return err
	}
	for _, t := range []*target{direct, limited} {
		if err := errors.Join(pin(true, self(), direct.proc, limited.proc), pin(false, t.proc)); err != nil {
			return err
		}
		line, err := e.abuseAt(ctx, t, tokens)
		if err != nil {
			return fmt.Errorf("abuse at %s: %w", t.name, err)
		}
		r.Abuse = append(r.Abuse, line)
	}
	return nil
}

// abuseAt measures one target. The last token is the abusive user's.
func (e *env) abuseAt(ctx context.Context, t *target, tokens []string) (*abuseLine, error) {
	progress("%d users at the %s", e.users, t.name)
	others, abuser := tokens[:e.users], tokens[e.users]
	for i := range e.users/usersPerConnection + 1 { // goroutines may share only connections that exist
		if _, err := t.connection(i); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lists := &abuseLists{}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for i, token := range others {
		raw := t.connections[i/usersPerConnection]
		selector := "fieldSelector=" + url.QueryEscape("spec.nodeName="+e.node(i))
		first := e.listEvery * time.Duration(i) / time.Duration(len(others)) // spread over the interval
		running.Go(func() {
			if sleep(ctx, first) == nil {
				lists.watchAlong(ctx, raw, token, selector)
			}
		})
		running.Go(func() {
			lists.repeat(ctx, raw, token, "/api/v1/pods?resourceVersion=0&"+selector, first, e.listEvery)
		})
	}
	if err := sleep(ctx, e.listEvery+warmUp); err != nil {
		return nil, err
	}
	line := &abuseLine{Target: t.name, Users: e.users, ListEvery: e.listEvery.Seconds(), Factor: e.abuseFactor}
	var err error
	if line.Without, err = lists.measure(ctx, t.proc, e.abuseWindow); err != nil {
		return nil, err
	}
	a, err := startAbuser(t.config, abuser, e.listEvery/time.Duration(e.abuseFactor))
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, warmUp); err != nil {
		return nil, errors.Join(err, a.stop(nil))
	}
	line.With, err = lists.measure(ctx, t.proc, e.abuseWindow)
	line.Abuser = new(abuseFigures)
	return line, errors.Join(err, a.stop(line.Abuser))
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
		_ = sleep(ctx, time.Second)
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

// repeat lists until ctx ends, first after a while.
func (l *abuseLists) repeat(ctx context.Context, raw *harness.RawClient, token, path string, first, every time.Duration) {
	if sleep(ctx, first) != nil {
		return
	}
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

// take returns the figures of the lists since the last call. The error says that there were none.
func (l *abuseLists) take() (*abuseFigures, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &abuseFigures{Watches: l.watches.Load(), Lists: len(l.walls), Bytes: l.bytes, Failed: l.failed}
	if f.Lists > 0 {
		f.P50, f.P99 = percentile(l.walls, 50).Seconds(), percentile(l.walls, 99).Seconds()
	}
	l.walls, l.bytes, l.failed = nil, 0, nil
	if f.Lists == 0 {
		return f, errors.New("no list has succeeded")
	}
	return f, nil
}

// measure returns the figures of a window, and what the server and the clients use of a CPU in it.
func (l *abuseLists) measure(ctx context.Context, server proc, window time.Duration) (*abuseFigures, error) {
	_, _ = l.take()
	used := func() time.Duration {
		t, _ := server.cpu() // zero once it has ended, when lists fail
		return t
	}
	before := used()
	if err := sleep(ctx, window); err != nil {
		return nil, err
	}
	f, err := l.take()
	f.ServerCPU = (used() - before).Seconds() / window.Seconds()
	return f, err
}
