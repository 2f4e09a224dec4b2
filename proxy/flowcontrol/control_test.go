package flowcontrol

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/limits"
	"sluice/proxy/request"
)

// env is a filter whose next handler blocks until release is closed or the request ends.
type env struct {
	handler http.Handler
	memory  *limits.Memory
	release chan struct{}
}

// newEnv returns an env with so many bytes for users and for others.
func newEnv(users, others int64) *env {
	e := &env{release: make(chan struct{}), memory: &limits.Memory{Users: limits.NewLedger(users), Unauthenticated: limits.NewLedger(others)}}
	e.handler = Admit(e.memory)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-e.release:
		case <-r.Context().Done():
		}
	}))
	return e
}

// do makes a request as a user, or from an address as an unauthenticated caller.
func (e *env) do(t *testing.T, name, address, target string) *httptest.ResponseRecorder {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", target, nil)
	r.RemoteAddr = address
	info, err := request.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	if name != "" {
		info.Caller, info.User, info.Acting = request.BearerToken, name, &user.DefaultInfo{Name: name}
	}
	e.handler.ServeHTTP(w, r.WithContext(request.With(r.Context(), info)))
	reason := limits.TooMuch
	if name == "" {
		reason = TooManyUnauthenticated
	}
	if w.Code == http.StatusTooManyRequests && (info.Outcome.Source != request.SourceGateway || info.Outcome.Reason != reason) {
		t.Errorf("outcome is %+v", info.Outcome)
	}
	select {
	case <-e.release:
	default:
		if revoked := (request.Outcome{Reason: limits.TooMuch, End: request.Failed}); info.Verb == "watch" && info.Outcome != revoked {
			t.Errorf("a watch ended with %+v", info.Outcome)
		}
	}
	return w
}

// requestBytes are more than a request of these tests takes, and less than two do.
const requestBytes = 18 << 10

const lists = "/api/v1/pods"

func TestRefusalIsAStatusWithRetryAfter(t *testing.T) {
	e := newEnv(0, 0)
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
func TestUnauthenticatedCallersTakeNothingOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(64*requestBytes, 8*requestBytes)
		codes := make(chan int, 100)
		for range 50 {
			go func() { codes <- e.do(t, "", "192.0.2.1:1", lists).Code }()
		}
		synctest.Wait()
		if n := len(codes); n < 43 || n > 46 { // an address may hold three times what is left
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
		if u, o := e.memory.Users.Usage().Held, e.memory.Unauthenticated.Usage().Held; u != 0 || o != 0 {
			t.Errorf("%d and %d bytes are left", u, o)
		}
	})
}

// A controller may open as many watches as there is memory for, until somebody else needs some of it.
func TestWatchesOfTheHeaviestEndForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 160
		e := newEnv(room*requestBytes, 0)
		ended := make(chan int, 2*room)
		for range 140 {
			go func() { ended <- e.do(t, "controller", "192.0.2.1:1", lists+"?watch=1").Code }()
		}
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatalf("%d watches ended with nobody else there", len(ended))
		}
		others := make(chan int, 50)
		for range 50 {
			go func() { others <- e.do(t, "jane", "192.0.2.1:1", lists+"?watch=1").Code }()
			synctest.Wait()
		}
		if len(others) > 0 || len(ended) < 15 || len(ended) > 40 {
			t.Errorf("%d of 50 watches of another ended, and %d of the controller", len(others), len(ended))
		}
		close(e.release)
		synctest.Wait()
	})
}

// A flood of requests that are refused costs a handshake each.
func TestRefusedUnauthenticatedConnectionsClose(t *testing.T) {
	m := limits.NewMemory(1<<30, 1<<20)
	m.Users.SetTotal(m.ConnectionBytes * 9 / 8)
	m.Unauthenticated.SetTotal(0)
	handler := Admit(m)(http.NotFoundHandler())
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, _ := request.Parse(r)
		if name := r.Header.Get("X-User"); name != "" {
			info.Caller, info.User, info.Acting = request.BearerToken, name, &user.DefaultInfo{Name: name}
		}
		handler.ServeHTTP(w, r.WithContext(request.With(r.Context(), info)))
	}))
	s.Listener, s.Config.ConnContext = limits.Listen(s.Listener, limits.ListenerOptions{Memory: m}), limits.ConnContext
	s.Start()
	defer s.Close()
	for name, closes := range map[string]bool{"": true, "x": false} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL+lists, nil)
		r.Header.Set("X-User", name)
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusTooManyRequests || resp.Close != closes {
			t.Errorf("user %q: %s, the connection closes: %v", name, resp.Status, resp.Close)
		}
	}
}

// All of them have the same name. One address would use up what the others need.
func TestAnonymousCallersCountByTheirAddress(t *testing.T) {
	r := httptest.NewRequest("GET", lists, nil)
	r.RemoteAddr = "192.0.2.1:1"
	info := &request.Info{Identity: request.Identity{
		Caller: request.Unauthenticated, User: "system:anonymous", Acting: &user.DefaultInfo{Name: "system:anonymous"},
	}}
	if got, want := accountOf(limits.NewMemory(1, 1), r, info).Caller, limits.ByAddress("192.0.2.1:2"); got != want {
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
