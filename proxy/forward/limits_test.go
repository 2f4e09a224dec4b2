package forward_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/forward/forwardtest"
	"sluice/proxy/request"
)

// one waits a little, because a handler gives its place back after the client has the response.
var one = flowcontrol.UpstreamLimits{
	Classes: map[flowcontrol.Class]int{flowcontrol.Reads: 1, flowcontrol.Writes: 1, flowcontrol.Leases: 1, flowcontrol.Watches: 1, flowcontrol.Sessions: 1},
	Wait:    300 * time.Millisecond,
}

// TestClassesAreApart: passed lists take no places of writes, and neither of leases.
func TestClassesAreApart(t *testing.T) {
	classes := []struct{ method, target string }{
		{http.MethodGet, "/api/v1/pods"},
		{http.MethodPost, "/api/v1/namespaces/ns/pods"},
		{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"},
		{http.MethodGet, "/api/v1/pods?watch=1"},
	}
	more := make(chan bool)
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, User: jane, Limits: one, Handler: func(http.ResponseWriter, *http.Request) {
		<-more
	}})
	var requests sync.WaitGroup
	for _, c := range classes {
		requests.Go(func() {
			if resp, err := e.Client.Do(e.NewRequest(t, c.method, c.target, bearer("a"), nil)); err == nil {
				resp.Body.Close()
			}
		})
	}
	for range classes { // each has its place while the others have theirs
		e.Next(t)
	}
	for _, c := range classes {
		resp := e.Do(t, e.NewRequest(t, c.method, c.target, bearer("a"), nil))
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "1" {
			t.Errorf("%s %s beyond the limit: %s", c.method, c.target, resp.Status)
		}
	}
	close(more)
	requests.Wait()
	for _, c := range classes { // the places become free again, a moment after the responses
		deadline := time.Now().Add(forwardtest.Timeout)
		resp := e.Do(t, e.NewRequest(t, c.method, c.target, bearer("a"), nil))
		for resp.StatusCode == http.StatusTooManyRequests && time.Now().Before(deadline) {
			resp = e.Do(t, e.NewRequest(t, c.method, c.target, bearer("a"), nil))
		}
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s %s after the end of others: %s", c.method, c.target, resp.Status)
		}
	}
}

// TestOneUserHoldsHalfOfAClass: another one still gets a place.
func TestOneUserHoldsHalfOfAClass(t *testing.T) {
	more := make(chan bool)
	defer close(more)
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, Limits: flowcontrol.UpstreamLimits{Classes: map[flowcontrol.Class]int{flowcontrol.Reads: 4}}, Handler: func(http.ResponseWriter, *http.Request) {
		<-more
	}})
	inner := e.Gateway.Config.Handler
	e.Gateway.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), forwardtest.UserKey{}, &user.DefaultInfo{Name: r.Header.Get("X-User")})))
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	send := func(name string) {
		req := e.NewRequest(t, http.MethodGet, "/api/v1/pods", merge(bearer("a"), http.Header{"X-User": {name}}), nil).WithContext(ctx)
		go func() {
			if resp, err := e.Client.Do(req); err == nil {
				resp.Body.Close()
			}
		}()
	}
	for range 10 {
		send("greedy")
	}
	for range 2 {
		if got := e.Next(t).Header.Get("X-User"); got != "greedy" {
			t.Errorf("%s came first", got)
		}
	}
	send("modest")
	if got := e.Next(t).Header.Get("X-User"); got != "modest" {
		t.Errorf("then %s", got)
	}
}

// TestAnonymousConnectionsAreBounded: 500 anonymous requests opened 194 connections to the upstream.
func TestAnonymousConnectionsAreBounded(t *testing.T) {
	const limit = 8 // of one address; the class has twice as many places
	var connections, most atomic.Int32
	more := make(chan bool)
	e := forwardtest.New(t, forwardtest.Settings{Limits: flowcontrol.UpstreamLimits{Unauthenticated: 2 * limit}, Handler: func(http.ResponseWriter, *http.Request) {
		most.Store(max(most.Load(), connections.Add(1)))
		<-more
		connections.Add(-1)
	}})
	var requests sync.WaitGroup
	codes := make(chan int, 10*limit)
	for range 10 * limit {
		requests.Go(func() {
			resp, err := e.Client.Do(e.NewRequest(t, http.MethodGet, "/version", nil, nil))
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			codes <- resp.StatusCode
		})
	}
	for range limit {
		e.Next(t)
	}
	e.ExpectNone(t)
	close(more)
	go func() {
		for range e.Received { // makes space
		}
	}()
	defer close(e.Received)
	requests.Wait()
	close(codes)
	for code := range codes {
		if code != http.StatusOK && code != http.StatusTooManyRequests {
			t.Error(fmt.Sprint(code))
		}
	}
	if n := most.Load(); n > limit {
		t.Errorf("%d requests at a time", n)
	}
}

// TestNetworkCountsAsOneStranger: a client that has an IPv6 network has as many places as one address.
func TestNetworkCountsAsOneStranger(t *testing.T) {
	more := make(chan bool)
	defer close(more)
	e := forwardtest.New(t, forwardtest.Settings{Limits: flowcontrol.UpstreamLimits{Unauthenticated: 4, Wait: time.Millisecond}, Handler: func(http.ResponseWriter, *http.Request) { <-more }})
	inner := e.Gateway.Config.Handler
	e.Gateway.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = r.Header.Get("X-Address")
		inner.ServeHTTP(w, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	from := func(address string) *http.Request {
		return e.NewRequest(t, http.MethodGet, "/version", http.Header{"X-Address": {address}}, nil).WithContext(ctx)
	}
	for i := range 2 {
		go func() {
			if resp, err := e.Client.Do(from(fmt.Sprintf("[2001:db8::%d]:1", i+1))); err == nil {
				resp.Body.Close()
			}
		}()
		e.Next(t)
	}
	if resp := e.Do(t, from("[2001:db8::3]:1")); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a third address of the network: %s", resp.Status)
	}
}

// TestStalledBodiesTakeNoPlace: the upstream has not authorized a request before it has its body.
func TestStalledBodiesTakeNoPlace(t *testing.T) {
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, User: jane, Limits: one})
	lease := "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"
	body, stalled := io.Pipe()
	defer stalled.Close()
	ctx, cancel := context.WithCancel(t.Context())
	req := e.NewRequest(t, http.MethodPut, lease, bearer("a"), body).WithContext(ctx)
	req.ContentLength = 100
	var ended sync.WaitGroup
	ended.Go(func() {
		if resp, err := e.Client.Do(req); err == nil {
			resp.Body.Close()
		}
	})
	if _, err := stalled.Write([]byte("{")); err != nil { // returns once the client reads the body to send it
		t.Fatal(err)
	}
	if resp := e.Do(t, e.NewRequest(t, http.MethodPut, lease, bearer("a"), nil)); resp.StatusCode != http.StatusOK {
		t.Errorf("beside a stalled body: %s", resp.Status)
	}
	cancel()
	ended.Wait()
}

// TestListsOfLeasesAreReads: they take no place of the leases that keep nodes alive.
func TestListsOfLeasesAreReads(t *testing.T) {
	more := make(chan bool)
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, User: jane, Limits: one, Handler: func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			<-more
		}
	}})
	var list sync.WaitGroup
	list.Go(func() {
		if resp, err := e.Client.Do(e.NewRequest(t, http.MethodGet, "/apis/coordination.k8s.io/v1/leases", bearer("a"), nil)); err == nil {
			resp.Body.Close()
		}
	})
	e.Next(t)
	if resp := e.Do(t, e.NewRequest(t, http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l", bearer("a"), nil)); resp.StatusCode != http.StatusOK {
		t.Errorf("beside a list of leases: %s", resp.Status)
	}
	close(more)
	list.Wait()
}
