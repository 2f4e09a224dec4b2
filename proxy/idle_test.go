package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"golang.org/x/net/http2"

	"sluice/proxy/request"
)

// untilItEnds is a handler that returns when the client gives its request up.
func untilItEnds(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// Agents that restart leave connections with open watches behind, hundreds a second.
func TestConnectionThatClosesWithOpenStreamsIsLetGo(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		accepted := make(chan weak.Pointer[tls.Conn])
		e.gateway.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g := r.Context().Value(generationKey{}).(*generation)
			g.mu.Lock()
			for c := range g.conns {
				accepted <- weak.Make(c.(*tls.Conn))
			}
			g.mu.Unlock()
			untilItEnds(w, r)
		})
		var held []weak.Pointer[tls.Conn]
		for range 20 {
			c := e.dialHTTP2(t)
			for stream := range uint32(3) {
				if err := c.get(2*stream+1, c.encode("/version")); err != nil {
					t.Fatal(err)
				}
				held = append(held, <-accepted)
			}
			_ = c.conn.Close()
			synctest.Wait()
		}
		time.Sleep(e.gateway.options.Config.Limits.IdleTimeout.Duration) // net/http holds them for as long
		time.Sleep(time.Minute)                                          // the runtime keeps timers that were stopped for a while
		for range 3 {                                                    // what pools keep is gone after the second
			runtime.GC()
		}
		n := 0
		for _, c := range held {
			if c.Value() != nil {
				n++
			}
		}
		if n > 0 {
			t.Errorf("%d of %d closed connections are held", n/3, len(held)/3)
		}
	})
}

// listen reads for a time at most.
func (c *rawHTTP2) listen(stream uint32, most time.Duration) ended {
	_ = c.conn.SetReadDeadline(time.Now().Add(most))
	return c.read(stream)
}

func TestIdleConnectionEndsInOrder(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		idle := e.gateway.options.Config.Limits.IdleTimeout.Duration
		e.gateway.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/lasts" {
				untilItEnds(w, r)
			}
		})
		c := e.dialHTTP2(t)
		stays := func(what string, d time.Duration) {
			t.Helper()
			if end := c.listen(0, d); !errors.Is(end.err, os.ErrDeadlineExceeded) {
				t.Fatalf("%s: the connection ends with %+v", what, end)
			}
		}
		if err := c.get(1, c.encode("/lasts")); err != nil {
			t.Fatal(err)
		}
		stays("while a request is open", 3*idle)
		if err := c.get(3, c.encode("/version")); err != nil {
			t.Fatal(err)
		}
		if end := c.listen(3, idle); end.status != "200" {
			t.Fatalf("another request: %+v", end)
		}
		stays("while the first one is open", 3*idle)
		if err := c.WriteRSTStream(1, http2.ErrCodeCancel); err != nil {
			t.Fatal(err)
		}
		stays("after the last request", idle-1)
		if end := c.listen(0, time.Second); !end.goAway || end.code != http2.ErrCodeNo {
			t.Errorf("an idle connection ends with %+v", end)
		}
		if end := c.listen(0, time.Minute); !errors.Is(end.err, io.EOF) {
			t.Errorf("after GOAWAY the connection ends with %+v", end)
		}
	})
}

// A client may send a request when the server has just given its connection up.
func TestRequestOnAnIdleConnectionIsAnswered(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		idle := e.gateway.options.Config.Limits.IdleTimeout.Duration
		for _, after := range []time.Duration{-1, 0, 1, time.Millisecond, time.Second - 1, time.Second, time.Second + 1} {
			for range 20 {
				resp, err := e.client.Get("https://sluice/version")
				if err != nil {
					t.Fatalf("%v after the connection is idle: %v", after, err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				time.Sleep(idle + after)
			}
		}
	})
}

// Clients may read the end of an answer slowly: net/http keeps the request until then, and no ledger counts it.
func TestAnAnsweredRequestKeepsNoInfo(t *testing.T) {
	for _, major := range []int{1, 2} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
		r.ProtoMajor = major
		withRequestInfo(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(httptest.NewRecorder(), r)
		if request.Lookup(r.Context()) == nil {
			t.Fatal("the request has no Info to begin with")
		}
		if end(httptest.NewRecorder(), r); request.Lookup(r.Context()) != nil {
			t.Errorf("HTTP/%d: the request keeps its Info", major)
		}
	}
}
