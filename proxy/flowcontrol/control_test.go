package flowcontrol

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/proxy/request"
)

// env is a filter whose next handler blocks until release is closed.
type env struct {
	handler http.Handler
	release chan struct{}
}

func newEnv(o Options) *env {
	e := &env{release: make(chan struct{})}
	e.handler = New(o).WithFlowControl(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-e.release }))
	return e
}

func limits(total, perUser int) map[Class]Limit {
	m := map[Class]Limit{}
	for _, c := range classes {
		m[c] = Limit{total, perUser}
	}
	return m
}

// do makes a request as a user, or from an address as an unauthenticated caller.
func (e *env) do(t *testing.T, user, address, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, target, nil)
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

const (
	lists  = "/api/v1/pods"
	leases = "/apis/coordination.k8s.io/v1/namespaces/n/leases/x"
)

func TestRefusalIsAStatusWithRetryAfter(t *testing.T) {
	e := newEnv(Options{Limits: limits(10, 10), Rate: Rate{PerSecond: 1, Burst: 1}})
	close(e.release)
	if w := e.do(t, "a", "192.0.2.1:1", "GET", lists); w.Code != http.StatusOK {
		t.Fatalf("first request: %d", w.Code)
	}
	w := e.do(t, "a", "192.0.2.1:1", "GET", lists)
	var status metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil {
		t.Fatal(err)
	}
	if w.Code != 429 || w.Header().Get("Retry-After") != "1" || status.Reason != metav1.StatusReasonTooManyRequests ||
		status.Details.RetryAfterSeconds != 1 || w.Header().Get("Audit-Id") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := e.do(t, "b", "192.0.2.1:1", "GET", lists); w.Code != http.StatusOK {
		t.Errorf("another user: %d", w.Code)
	}
	if w := e.do(t, "a", "192.0.2.1:1", "PUT", lists+"/x"); w.Code != http.StatusOK {
		t.Errorf("a write of the same user: %d", w.Code)
	}
}

// Lists and watches, stalled or not, never take the places of writes and leases, and unauthenticated
// callers never those of users.
func TestClassesHavePlacesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(Options{Limits: limits(8, 4), Rate: Rate{PerSecond: 1e6, Burst: 1e6}, Wait: time.Second})
		codes := make(chan int, 100)
		fill := func(user, address, target string) {
			for range 10 {
				go func() { codes <- e.do(t, user, address, "GET", target).Code }()
			}
			time.Sleep(2 * time.Second) // virtual; those that wait are refused
			synctest.Wait()
		}
		fill("", "192.0.2.1:1", lists)
		if got := e.do(t, "", "192.0.2.2:1", "GET", lists).Code; got != 429 {
			t.Errorf("unauthenticated callers have more than a quarter: %d", got)
		}
		fill("a", "192.0.2.1:1", lists)
		fill("b", "192.0.2.1:1", lists)
		if got := e.do(t, "c", "192.0.2.1:1", "GET", lists).Code; got != 429 {
			t.Errorf("a list beyond the total: %d", got)
		}
		fill("a", "192.0.2.1:1", lists+"?watch=1")
		refused := len(codes)
		ok := make(chan int, 10)
		for _, r := range [][2]string{{"POST", lists}, {"GET", leases}, {"PUT", leases}} {
			go func() { ok <- e.do(t, "a", "192.0.2.1:1", r[0], r[1]).Code }()
		}
		synctest.Wait()
		close(e.release)
		synctest.Wait()
		for range 3 {
			if code := <-ok; code != http.StatusOK {
				t.Errorf("a write or lease: %d", code)
			}
		}
		if want := 40 - 2 - 4 - 4 - 4; refused != want {
			t.Errorf("%d were refused, want %d", refused, want)
		}
	})
}

func TestClassOfRequests(t *testing.T) {
	for _, tt := range []struct {
		method, target string
		want           Class
	}{
		{"GET", lists, Reads}, {"GET", lists + "/x", Reads}, {"GET", "/version", Reads}, {"HEAD", "/healthz", Reads},
		{"GET", lists + "?watch=1", Watches}, {"GET", "/api/v1/watch/pods", Watches},
		{"POST", lists, Writes}, {"PATCH", lists + "/x", Writes}, {"DELETE", lists, Writes}, {"PUT", leases, Leases},
		{"GET", leases, Leases}, {"GET", "/apis/coordination.k8s.io/v1/leases", Reads},
		{"GET", "/apis/coordination.k8s.io/v1/leases?watch=1", Watches},
		{"GET", "/api/v1/namespaces/n/pods/x/log", Sessions}, {"GET", "/api/v1/nodes/n/proxy/metrics", Sessions},
	} {
		info, err := request.Parse(httptest.NewRequest(tt.method, tt.target, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := ClassOf(info); got != tt.want {
			t.Errorf("%s %s is of %s, want %s", tt.method, tt.target, got, tt.want)
		}
	}
}
