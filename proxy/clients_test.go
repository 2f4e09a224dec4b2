package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"

	"sluice/proxy/clients"
	"sluice/proxy/request"
)

// behave answers a request as the user's name says.
func behave(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	user, n := r.Header.Get("X-User"), 0
	_, _ = fmt.Sscanf(user, "user-%d", &n)
	info.User, info.Caller = user, request.BearerToken
	source := []string{request.SourceCache, request.SourceUpstream, request.SourceGateway, request.SourceUpstream, ""}[n%5]
	info.Outcome = request.Outcome{Source: source, Reason: "small-read"}
	switch n % 5 {
	case 2:
		w.WriteHeader(http.StatusTooManyRequests)
	case 3:
		w.WriteHeader(http.StatusForbidden)
	case 4: // the client has gone
		return
	}
	_, _ = io.WriteString(w, "0123456789")
}

// TestRowsAndTheRestAreAllRequests lets 300 clients each send so many requests as their number says, and compares with the metrics.
func TestRowsAndTheRestAreAllRequests(t *testing.T) {
	a := accessTo(http.HandlerFunc(behave), zap.InfoLevel)
	paths := []string{"/api/v1/pods", "/api/v1/namespaces/a/pods/p", "/apis/apps/v1/deployments?watch=1", "/version", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn"}
	sent := map[string]int{}
	var all sync.WaitGroup
	for n := range 300 {
		user := fmt.Sprintf("user-%d", n)
		times := n%7 + 1
		sent[user] = times
		all.Go(func() {
			for i := range times {
				r := httptest.NewRequest(http.MethodGet, paths[(n+i)%len(paths)], nil)
				r.Header.Set("X-User", user)
				r.Header.Set("User-Agent", "client/v1.2.3 (linux)")
				a.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
	all.Wait()
	l := a.metrics.Clients.List(true)
	sum, outcomes, bytes := map[string]int{}, map[string]uint64{}, uint64(0)
	for i := range l.Items {
		r := &l.Items[i]
		for _, outcome := range []string{"served", "passed", "refused", "failed"} {
			sum[r.User] += int(r.Count(outcome))
			outcomes[outcome] += r.Count(outcome)
		}
		bytes += r.SentBytes
		if r.Agent != "client/v1.2" || r.Watches != 0 {
			t.Errorf("%+v", r)
		}
	}
	requests, want := 0, uint64(0)
	for user, n := range sent {
		requests += n
		if !strings.HasSuffix(user, "4") && !strings.HasSuffix(user, "9") { // others send nothing
			want += uint64(n) * 10
		}
		if sum[user] != n {
			t.Errorf("%s has %d requests, want %d", user, sum[user], n)
		}
	}
	if n := counts(t, a.registry, "sluice_request_total")[""]; n != float64(requests) || bytes != want || l.Rest.Count("served") != 0 {
		t.Errorf("%d requests and %d bytes, the metrics have %v; want %d and %d", requests, bytes, n, requests, want)
	}
	for outcome, n := range outcomes {
		if n == 0 {
			t.Errorf("none %s", outcome)
		}
	}
}

// TestRefusalsAreTheSameNumberEverywhere: in the table of clients, in the last requests of the user, and in the metrics.
func TestRefusalsAreTheSameNumberEverywhere(t *testing.T) {
	a := accessTo(http.HandlerFunc(behave), zap.InfoLevel)
	send := func(user string, n int) {
		for range n {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
			r.Header.Set("X-User", user)
			a.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	const refused, passed = "user-3", "user-1" // by what behave does
	send(refused, 346)
	send(passed, 1000)
	rows := map[string]*clients.Row{}
	for _, r := range a.metrics.Clients.List(true).Items {
		if rows[r.User] == nil {
			rows[r.User] = &r
		}
	}
	row := rows[refused]
	if row.Count("refused") != 346 || row.Count("passed")+row.Count("failed") != 0 || row.RefusedBecause != clients.RefusedByApiserver {
		t.Errorf("row %+v", row)
	}
	last := a.kept.Last(clients.Refused, url.Values{"user": {refused}, "code": {"403"}}, true)
	for _, seen := range last {
		if seen.User != refused || seen.Source != "upstream" || seen.Outcome != "refused" {
			t.Errorf("kept %+v", seen)
		}
	}
	if others := len(a.kept.Last(clients.Passed, url.Values{"user": {refused}}, true)); len(last) != min(346, 200) || others != 0 {
		t.Errorf("%d refusals and %d others are kept", len(last), others)
	}
	counted := counts(t, a.registry, "sluice_request_total", "code")
	if counted["403"] != 346 || counted["200"] != 1000 {
		t.Errorf("metrics %v", counted)
	}
}

// TestWatchIsCountedWhileItIsOpen looks at a watch whose response has begun: it may be open for hours.
func TestWatchIsCountedWhileItIsOpen(t *testing.T) {
	for _, tt := range []struct {
		name, source, coding string
		encoded              float64
	}{
		{"plain from the cache", request.SourceCache, "", 10},
		{"compressed by Sluice", request.SourceCache, "gzip", 1003},
		{"compressed by the apiserver", request.SourceUpstream, "gzip", 10},
	} {
		var a *access
		row := func() *clients.Row { return &a.metrics.Clients.List(true).Items[0] }
		a = accessTo(of(func(w http.ResponseWriter, info *request.Info) {
			info.User, info.Caller, info.Outcome.Source, info.Encoded = "jane", request.BearerToken, tt.source, 1000
			w.Header().Set("Content-Encoding", tt.coding)
			_, _ = io.WriteString(w, "event")
			if open := a.metrics.Clients.Watches(true).Items; len(open) != 1 || open[0].Selects != "one object" {
				t.Errorf("%s: open: %+v", tt.name, open)
			}
			if row().Watches != 1 || row().SentBytes != 0 {
				t.Errorf("%s: %+v", tt.name, row())
			}
			a.metrics.Clients.NextTurn()
			info.Events, info.Encoded = 1, 1003
			_, _ = io.WriteString(w, "event")
			count := func(stage string) float64 {
				return testutil.ToFloat64(a.metrics.bytes.WithLabelValues("WATCH", "", "v1", "pods", tt.source, stage))
			}
			if sent, encoded := count("sent"), count("encoded"); sent != 10 || encoded != tt.encoded {
				t.Errorf("%s: %v bytes sent, %v encoded; want 10 and %v", tt.name, sent, encoded, tt.encoded)
			}
			if row().SentBytes != 10 || row().Count("served")+row().Count("passed") != 0 {
				t.Errorf("%s: while it is open: %+v", tt.name, row())
			}
		}), zap.InfoLevel)
		a.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dcanary", nil))
		if row().Watches != 0 || row().SentBytes != 10 || row().Count("served")+row().Count("passed") != 1 {
			t.Errorf("%s: at the end: %+v", tt.name, row())
		}
	}
}
