package abuse

import (
	"context"
	"encoding/pem"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// server starts a server and returns it as a target.
func server(t *testing.T, h http.HandlerFunc) *Target {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return &Target{URL: s.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}
}

// seen is what a server has seen. It ends ctx at a number of different things.
type seen struct {
	ctx    context.Context
	end    context.CancelFunc
	number int
	mu     sync.Mutex // guards things
	things map[string]int
}

func expect(t *testing.T, number int) *seen {
	ctx, end := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(end)
	return &seen{ctx: ctx, end: end, number: number, things: map[string]int{}}
}

func (s *seen) add(thing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.things[thing]++; len(s.things) == s.number {
		s.end()
	}
}

// all returns everything that the server has seen, which must be enough.
func (s *seen) all(t *testing.T) map[string]int {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.things) < s.number {
		t.Fatalf("the server has seen only %d different things", len(s.things))
	}
	return maps.Clone(s.things)
}

// attack attacks until the server has seen enough, and returns the answers.
func (s *seen) attack(t *testing.T, a Attacker, to *Target) Tally {
	t.Helper()
	answers, err := a.Attack(s.ctx, to, []string{"a", "b"})
	if s.all(t); err != nil {
		t.Fatal(err)
	}
	return answers
}

func TestEachRequestHasAnotherRandomToken(t *testing.T) {
	tokens := expect(t, 20)
	to := server(t, func(w http.ResponseWriter, r *http.Request) {
		tokens.add(r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	})
	answers := tokens.attack(t, Streams{Connections: 2, Each: 3, Method: "GET", Path: "/", RandomToken: 40_000, Again: true}, to)
	if answers["401"] == 0 {
		t.Errorf("answers: %v", answers)
	}
	for token, n := range tokens.all(t) {
		if len(token) != len("Bearer ")+40_000 || n != 1 {
			t.Errorf("a token of %d bytes came %d times", len(token), n)
		}
	}
}

func TestSlowBodiesKeepComing(t *testing.T) {
	bytes := expect(t, 4*3)
	to := server(t, func(_ http.ResponseWriter, r *http.Request) {
		one := make([]byte, 1) // bytes that came together count as well
		for total := 0; ; {
			n, err := r.Body.Read(one)
			if total += n; err != nil {
				return
			}
			bytes.add(r.Header.Get("Authorization") + r.Header.Get("Content-Length") + strings.Repeat("x", min(total, 3)) + r.RemoteAddr)
		}
	})
	bytes.attack(t, Streams{Connections: 4, Each: 1, Method: "POST", Path: "/", Body: 100, Every: time.Millisecond}, to)
	for thing := range bytes.all(t) {
		if !strings.HasPrefix(thing, "Bearer a100x") && !strings.HasPrefix(thing, "Bearer b100x") {
			t.Errorf("a byte of %q", thing)
		}
	}
}

func TestSlowReadersReadOnlyWhatTheySay(t *testing.T) {
	const reads = 20_000 // five of them are more than a connection's first window, so some have been read
	written := expect(t, 1)
	to := server(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 5 { // only the first writes do not wait for the reader
			_, _ = w.Write(make([]byte, reads))
			_ = http.NewResponseController(w).Flush()
			if i == 4 {
				written.add("all")
			}
		}
	})
	answers := written.attack(t, Streams{Connections: 1, Each: 1, Method: "GET", Path: "/", Every: time.Millisecond, Reads: reads}, to)
	if answers["200"] != 1 {
		t.Errorf("answers: %v", answers)
	}
}

func TestConnectionsAreHeldUntilTheAttackEnds(t *testing.T) {
	for name, header := range map[string]int{"idle": 0, "unfinished header": 100_000} {
		t.Run(name, func(t *testing.T) {
			opened := expect(t, 5)
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.Config.ConnState = func(c net.Conn, state http.ConnState) {
				if state == http.StateNew {
					opened.add(c.RemoteAddr().String())
				}
			}
			s.Start()
			t.Cleanup(s.Close)
			if answers := opened.attack(t, Connections{Count: 5, Header: header}, &Target{Admin: s.URL}); len(answers) != 0 {
				t.Errorf("answers: %v", answers)
			}
		})
	}
}

func TestAttackersKeepToLoopback(t *testing.T) {
	to := &Target{URL: "https://192.0.2.1:6443", Admin: "http://example.com:80"}
	for _, a := range []Attacker{Streams{Connections: 1, Each: 1}, Connections{Count: 1}} {
		if _, err := a.Attack(t.Context(), to, []string{"a"}); err == nil || !strings.Contains(err.Error(), "not on loopback") {
			t.Errorf("%T: %v", a, err)
		}
	}
}

func TestAgentsListAndWatchAgain(t *testing.T) {
	watches := expect(t, 4) // by the connection
	var refused atomic.Bool
	to := server(t, func(w http.ResponseWriter, r *http.Request) {
		if !refused.Swap(true) {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		if r.URL.Query().Get("watch") == "" {
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"17"},"items":[]}`)
			return
		}
		if v := r.URL.Query().Get("resourceVersion"); v != "17" {
			t.Errorf("a watch from %q", v)
		}
		w.WriteHeader(http.StatusOK)
		watches.add(r.RemoteAddr) // and it ends
	})
	c := &Crowd{Agents: 2, Tokens: []string{"a"}, Path: func(int) string { return "/?" }, Pause: time.Millisecond}
	if err := c.Run(watches.ctx, to); err != nil {
		t.Fatal(err)
	}
	watches.all(t)
	if refusals := c.Refusals(); c.Watching() != 0 || len(refusals) != 1 || refusals["429"] != 1 {
		t.Errorf("%d watches, refusals: %v", c.Watching(), refusals)
	}
}
