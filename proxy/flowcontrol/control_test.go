package flowcontrol

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/proxy/accounts"
	"sluice/proxy/connections"
	"sluice/proxy/request"
)

// env is a filter whose next handler blocks until release is closed or the request ends.
type env struct {
	handler http.Handler
	ledger  *accounts.Ledger
	release chan struct{}
}

func newEnv(t accounts.Totals) *env {
	e := &env{release: make(chan struct{}), ledger: accounts.New(t, math.MaxInt64)}
	e.handler = New(e.ledger).WithFlowControl(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-e.release:
		case <-r.Context().Done():
		}
	}))
	return e
}

// do makes a request as a user, or from an address as an unauthenticated caller.
func (e *env) do(t *testing.T, user, address, target string) *httptest.ResponseRecorder {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", target, nil)
	r.RemoteAddr = address
	info, err := request.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		info.Caller, info.User = request.BearerToken, user
	}
	e.handler.ServeHTTP(w, r.WithContext(request.With(r.Context(), info)))
	if w.Code == http.StatusTooManyRequests && info.Outcome.Source != request.SourceGateway {
		t.Errorf("outcome is %+v", info.Outcome)
	}
	return w
}

const lists = "/api/v1/pods"

func TestRefusalIsAStatusWithRetryAfter(t *testing.T) {
	e := newEnv(accounts.Totals{})
	w := e.do(t, "a", "192.0.2.1:1", lists)
	var status metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil {
		t.Fatal(err)
	}
	if w.Code != 429 || w.Header().Get("Retry-After") != "1" || status.Reason != metav1.StatusReasonTooManyRequests ||
		status.Details.RetryAfterSeconds != 1 || w.Header().Get("Audit-Id") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// Callers without credentials take no memory of users, and refusals come at once.
func TestStrangersTakeNothingOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(accounts.Totals{accounts.Unverified: 8 * accounts.RequestBytes, accounts.Requests: 64 * accounts.RequestBytes})
		codes := make(chan int, 100)
		for range 50 {
			go func() { codes <- e.do(t, "", "192.0.2.1:1", lists).Code }()
		}
		synctest.Wait()
		if n := len(codes); n < 44 || n > 46 { // an address may hold three times what is left
			t.Errorf("%d of 50 are refused at once", n)
		}
		done := make(chan int)
		go func() { done <- e.do(t, "jane", "192.0.2.1:1", lists).Code }()
		synctest.Wait()
		close(e.release)
		if code := <-done; code != http.StatusOK {
			t.Errorf("a user at the same address: %d", code)
		}
		synctest.Wait()
		if u, r := e.ledger.Usage(accounts.Unverified).Used, e.ledger.Usage(accounts.Requests).Used; u != 0 || r != 0 {
			t.Errorf("%d and %d bytes are left", u, r)
		}
	})
}

// A controller may open as many watches as there is memory for, until somebody else needs some of it.
func TestWatchesOfTheHeaviestEndForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 100
		e := newEnv(accounts.Totals{accounts.Requests: room * (accounts.RequestBytes + 700)})
		ended := make(chan int, 2*room)
		for range room {
			go func() { ended <- e.do(t, "controller", "192.0.2.1:1", lists+"?watch=1").Code }()
		}
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatalf("%d of %d watches ended with nobody else there", len(ended), room)
		}
		others := make(chan int, 10)
		for range 10 {
			go func() { others <- e.do(t, "jane", "192.0.2.1:1", lists+"?watch=1").Code }()
		}
		synctest.Wait()
		if len(others) > 0 || len(ended) < 8 || len(ended) > 12 {
			t.Errorf("%d of 10 watches of another ended, and %d of the controller", len(others), len(ended))
		}
		close(e.release)
		synctest.Wait()
	})
}

// A flood of requests that are refused costs a handshake each.
func TestRefusedStrangersLoseTheirConnection(t *testing.T) {
	l := accounts.New(accounts.Totals{accounts.Strangers: 10, accounts.Connections: 10}, math.MaxInt64)
	handler := New(l).WithFlowControl(http.NotFoundHandler())
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, _ := request.Parse(r)
		if user := r.Header.Get("X-User"); user != "" {
			info.Caller, info.User = request.BearerToken, user
		}
		handler.ServeHTTP(w, r.WithContext(request.With(r.Context(), info)))
	}))
	s.Listener, s.Config.ConnContext = connections.New(l).Listener(s.Listener), connections.ConnContext
	s.Start()
	defer s.Close()
	for user, closes := range map[string]bool{"": true, "x": false} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL+lists, nil)
		r.Header.Set("X-User", user)
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusTooManyRequests || resp.Close != closes {
			t.Errorf("user %q: %s, the connection closes: %v", user, resp.Status, resp.Close)
		}
	}
}

// All of them have the same name. One address would use up what the others need.
func TestAnonymousCallersCountByTheirAddress(t *testing.T) {
	r := httptest.NewRequest("GET", lists, nil)
	r.RemoteAddr = "192.0.2.1:1"
	info := &request.Info{Identity: request.Identity{Caller: request.Unauthenticated, User: "system:anonymous"}}
	if got, want := keyOf(r, info), accounts.ByAddress("192.0.2.1"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestRequestsThatLast(t *testing.T) {
	for target, want := range map[string]bool{
		lists: false, lists + "/x": false, "/version": false,
		lists + "?watch=1": true, "/api/v1/watch/pods": true,
		"/api/v1/namespaces/n/pods/x/log": true, "/api/v1/nodes/n/proxy/metrics": true,
	} {
		info, err := request.Parse(httptest.NewRequest("GET", target, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := Lasts(info); got != want {
			t.Errorf("%s lasts: %v", target, got)
		}
	}
}

// stallingClient is a client that sends no more of its body until its read deadline.
type stallingClient struct {
	*httptest.ResponseRecorder
	body *io.PipeWriter
}

func (c stallingClient) SetReadDeadline(at time.Time) error {
	return c.body.CloseWithError(os.ErrDeadlineExceeded)
}

// Seven accounts, each with three quarters of what the others left, refused everybody.
func TestBodiesThatStallMakeRoomForLighterAccounts(t *testing.T) {
	for caller, resource := range map[request.Caller]accounts.Resource{
		request.BearerToken: accounts.Requests, request.Unauthenticated: accounts.Unverified,
	} {
		synctest.Test(t, func(t *testing.T) {
			const total = 1 << 20
			l := accounts.New(accounts.Totals{accounts.Requests: total, accounts.Unverified: total}, math.MaxInt64)
			var requests sync.WaitGroup
			var mu sync.Mutex
			refused := 0
			h := New(l).WithFlowControl(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, err := io.Copy(io.Discard, r.Body)
				if _, ok := errors.AsType[*accounts.Refused](err); ok {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			}))
			send := func(from int, body io.Reader, w http.ResponseWriter) {
				r := httptest.NewRequest(http.MethodPost, lists, body)
				r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", from)
				info, err := request.Parse(r)
				if err != nil {
					t.Fatal(err)
				}
				info.Caller, info.User = caller, fmt.Sprint("user", from)
				h.ServeHTTP(w, r.WithContext(request.With(r.Context(), info)))
			}
			var clients []*io.PipeWriter
			for from := range 20 {
				for range 20 {
					body, client := io.Pipe()
					clients = append(clients, client)
					requests.Go(func() { send(from, body, stallingClient{httptest.NewRecorder(), client}) })
				}
				synctest.Wait()
			}
			w := httptest.NewRecorder()
			if send(99, strings.NewReader("{}"), w); w.Code != http.StatusOK {
				t.Errorf("%s: another account gets %d", resource, w.Code)
			}
			for _, c := range clients {
				_ = c.Close()
			}
			requests.Wait()
			if refused == 0 {
				t.Errorf("%s: nothing made room", resource)
			}
			if n := l.Usage(resource).Used; n != 0 {
				t.Errorf("%s: %d bytes are left", resource, n)
			}
		})
	}
}

// What an account may not hold for longer is refused when its body is complete.
func TestCompleteBodyIsKeptWithinTheShareOfItsAccount(t *testing.T) {
	l := accounts.New(accounts.Totals{accounts.Requests: 100 << 10}, math.MaxInt64)
	h := New(l).WithFlowControl(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			t.Error("a request keeps more than three times what is free")
		}
	}))
	r := httptest.NewRequest(http.MethodPost, lists, strings.NewReader("{}"))
	r.Header.Set("X-Long", strings.Repeat("x", 70<<10))
	info, err := request.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	info.Caller, info.User = request.BearerToken, "x"
	h.ServeHTTP(httptest.NewRecorder(), r.WithContext(request.With(r.Context(), info)))
	if n := l.Usage(accounts.Requests).Used; n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// The ResponseWriter of a handler that has returned panics over HTTP/2.
func TestNothingExpiresAfterItsRequest(t *testing.T) {
	body, client := io.Pipe()
	b := &arrivingBody{ReadCloser: body, client: http.NewResponseController(stallingClient{httptest.NewRecorder(), client})}
	b.leave()
	b.expire()
	go func() { _, _ = client.Write([]byte("x")) }()
	if _, err := body.Read(make([]byte, 1)); err != nil {
		t.Errorf("the deadline was set: %v", err)
	}
}
