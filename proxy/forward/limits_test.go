package forward_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// send sends a request in a goroutine of its own.
func send(e *forwardtest.Env, r *http.Request) (ended *sync.WaitGroup) {
	ended = new(sync.WaitGroup)
	ended.Go(func() {
		if resp, err := e.Client.Do(r); err == nil {
			resp.Body.Close()
		}
	})
	return ended
}

// one seat is waited for a little, because a handler gives its seat back after the client has the response.
func one() forwardtest.Places { return forwardtest.Places{N: 1, Wait: 300 * time.Millisecond} }

// TestPlacesAreApart: watches and unauthenticated callers take no seats of others.
func TestPlacesAreApart(t *testing.T) {
	more := make(chan bool)
	e := forwardtest.New(t, forwardtest.Settings{
		Caller: request.BearerToken, User: jane, Seats: one(), Held: 80 << 10, // for one watch
		Handler: func(http.ResponseWriter, *http.Request) { <-more },
	})
	targets := []string{"/api/v1/pods", "/api/v1/pods?watch=1"}
	var requests []*sync.WaitGroup
	for _, target := range targets {
		requests = append(requests, send(e, e.NewRequest(t, http.MethodGet, target, bearer("a"), nil)))
		e.Next(t) // it has its place
	}
	for _, target := range targets {
		resp := e.Do(t, e.NewRequest(t, http.MethodGet, target, bearer("a"), nil))
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "1" {
			t.Errorf("%s beyond the limit: %s", target, resp.Status)
		}
	}
	close(more)
	for _, r := range requests {
		r.Wait()
	}
	for _, target := range targets { // the places become free again, a moment after the responses
		deadline := time.Now().Add(forwardtest.Timeout)
		resp := e.Do(t, e.NewRequest(t, http.MethodGet, target, bearer("a"), nil))
		for resp.StatusCode == http.StatusTooManyRequests && time.Now().Before(deadline) {
			resp = e.Do(t, e.NewRequest(t, http.MethodGet, target, bearer("a"), nil))
		}
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s after the end of others: %s", target, resp.Status)
		}
	}
}

// TestAcceptedWatchesOfUnauthenticatedTakeNoPlaces: otherwise the watches of callers whom only the apiserver knows, because it
// reviews no tokens for Sluice, would take the places of their other requests.
func TestAcceptedWatchesOfUnauthenticatedTakeNoPlaces(t *testing.T) {
	more := make(chan bool)
	defer close(more)
	e := forwardtest.New(t, forwardtest.Settings{
		Unauthenticated: one(), Held: 80 << 10, // for one watch
		Handler: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "" {
				w.(http.Flusher).Flush()
				<-more
			}
		},
	})
	get := func(target string) *http.Response {
		return e.Do(t, e.NewRequest(t, http.MethodGet, target, bearer("a"), nil))
	}
	resp, err := e.Client.Do(e.NewRequest(t, http.MethodGet, "/api/v1/pods?watch=1", bearer("a"), nil))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	if held := e.Memory.Unauthenticated.Usage().Held; held != e.Memory.PassedBytes {
		t.Errorf("the watch takes %d bytes", held)
	}
	for range 2 {
		if resp := get("/api/v1/pods"); resp.StatusCode != http.StatusOK {
			t.Errorf("a list beside the watch: %s", resp.Status)
		}
	}
	if resp := get("/api/v1/pods?watch=1"); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a watch beyond the limit: %s", resp.Status)
	}
}

// TestUsersGetSeatsInTurn: whoever has many requests leaves a quarter of the seats to others.
func TestUsersGetSeatsInTurn(t *testing.T) {
	more := make(chan bool)
	defer close(more)
	e := forwardtest.New(t, forwardtest.Settings{
		Caller: request.BearerToken, Seats: forwardtest.Places{N: 4, Wait: forwardtest.Timeout},
		Handler: func(http.ResponseWriter, *http.Request) { <-more },
	})
	inner := e.Gateway.Config.Handler
	e.Gateway.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), forwardtest.UserKey{}, &user.DefaultInfo{Name: r.Header.Get("X-User")})))
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	from := func(name string) {
		send(e, e.NewRequest(t, http.MethodGet, "/api/v1/pods", merge(bearer("a"), http.Header{"X-User": {name}}), nil).WithContext(ctx))
	}
	for range 10 {
		from("greedy")
	}
	for range 3 {
		if got := e.Next(t).Header.Get("X-User"); got != "greedy" {
			t.Errorf("%s came first", got)
		}
	}
	from("modest")
	if got := e.Next(t).Header.Get("X-User"); got != "modest" {
		t.Errorf("then %s", got)
	}
}

// TestAnonymousConnectionsAreBounded: 500 anonymous requests opened 194 connections to the upstream.
func TestAnonymousConnectionsAreBounded(t *testing.T) {
	const limit = 9 // of one address, of twelve places
	var connections, most atomic.Int32
	more := make(chan bool)
	e := forwardtest.New(t, forwardtest.Settings{Unauthenticated: forwardtest.Places{N: 12, Wait: forwardtest.Timeout}, Handler: func(http.ResponseWriter, *http.Request) {
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

// TestStalledBodiesTakeNoPlace: the upstream has not authorized a request before it has its body.
func TestStalledBodiesTakeNoPlace(t *testing.T) {
	for name, row := range map[string]struct {
		length, sent int64
		header       http.Header
	}{
		"short":                    {100, 1, nil},
		"unknown length":           {-1, 1, nil},
		"as long as may be":        {3 << 20, 2 << 20, nil},
		"too long":                 {4 << 20, 3 << 20, nil},
		"waiting for 100 Continue": {100, 1, http.Header{"Expect": {"100-continue"}}},
	} {
		t.Run(name, func(t *testing.T) {
			e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, User: jane, Seats: one()})
			lease := "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"
			body, stalled := io.Pipe()
			defer stalled.Close()
			ctx, cancel := context.WithCancel(t.Context())
			req := e.NewRequest(t, http.MethodPut, lease, merge(bearer("a"), row.header), body).WithContext(ctx)
			req.ContentLength = row.length
			ended := send(e, req)
			if _, err := stalled.Write(make([]byte, row.sent)); err != nil { // returns once the client reads the body to send it
				t.Fatal(err)
			}
			e.AwaitUse(t, e.Memory.Users, row.sent)
			if resp := e.Do(t, e.NewRequest(t, http.MethodPut, lease, bearer("a"), nil)); resp.StatusCode != http.StatusOK {
				t.Errorf("beside a stalled body: %s", resp.Status)
			}
			cancel()
			ended.Wait()
		})
	}
}

// TestStalledBodiesOfUnauthenticatedFailNoWritesOfOthers: they have no memory in common.
func TestStalledBodiesOfUnauthenticatedFailNoWritesOfOthers(t *testing.T) {
	e := forwardtest.New(t, forwardtest.Settings{Held: 68 << 10})
	body, stalled := io.Pipe()
	defer stalled.Close()
	ctx, cancel := context.WithCancel(t.Context())
	req := e.NewRequest(t, http.MethodPost, "/api/v1/namespaces/ns/configmaps", nil, body).WithContext(ctx)
	ended := send(e, req)
	const stalls = 20 << 10
	if _, err := stalled.Write(make([]byte, stalls)); err != nil {
		t.Fatal(err)
	}
	e.AwaitUse(t, e.Memory.Unauthenticated, stalls)
	long := strings.NewReader(strings.Repeat("x", 40<<10))
	if resp := e.Do(t, e.NewRequest(t, http.MethodPost, "/api/v1/namespaces/ns/configmaps", nil, long)); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("an unauthenticated caller beyond the total: %s", resp.Status)
	}
	if n := e.Memory.Users.Usage().Held; n != 0 {
		t.Errorf("unauthenticated callers hold %d bytes of users", n)
	}
	cancel()
	ended.Wait()
}
