package proxy

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/clients"
	"sluice/proxy/request"
	"sluice/proxy/why"
)

// access is an access log, its metrics, and the last requests that it keeps.
type access struct {
	http.Handler
	options  accessOptions
	log      *observer.ObservedLogs
	metrics  *Metrics
	registry *prometheus.Registry
	kept     why.Ring
}

// accessTo logs the requests that a handler gets.
func accessTo(h http.Handler, level zapcore.Level) *access {
	core, logs := observer.New(level)
	a := &access{log: logs, registry: prometheus.NewRegistry()}
	a.metrics = NewMetrics(a.registry)
	a.Handler = chain(h, withRequestInfo, withAccessLog(zap.New(core), a.metrics, &a.options, &a.kept))
	return a
}

// of is a handler that needs no more than the Info of a request.
func of(h func(http.ResponseWriter, *request.Info)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { h(w, request.From(r.Context())) }
}

// respond sends a request through the access log to a handler.
func respond(method, target string, header http.Header, debug bool, h func(http.ResponseWriter, *request.Info)) (*access, *httptest.ResponseRecorder) {
	a, response := accessTo(of(h), zap.InfoLevel), httptest.NewRecorder()
	r := httptest.NewRequest(method, target, nil)
	maps.Copy(r.Header, header)
	a.options.debugHeaders.Store(debug)
	a.options.all.Store(true)
	a.ServeHTTP(response, r)
	return a, response
}

// counts returns the values of a counter by some of its labels.
func counts(t *testing.T, from prometheus.Gatherer, name string, labels ...string) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			var by []string
			for _, l := range series.GetLabel() {
				if slices.Contains(labels, l.GetName()) {
					by = append(by, l.GetValue())
				}
			}
			if f.GetName() == name {
				sums[strings.Join(by, " ")] += series.GetCounter().GetValue()
			}
		}
	}
	return sums
}

// fromCache responds as if from the cache.
func fromCache(w http.ResponseWriter, info *request.Info) {
	info.User, info.Outcome = "jane", request.Outcome{Source: request.SourceCache, Reason: "fresh", Format: "json"}
	_, _ = io.WriteString(w, "body")
}

// forwarded responds with a code, as if the apiserver had.
func forwarded(code int) func(http.ResponseWriter, *request.Info) {
	return func(w http.ResponseWriter, info *request.Info) {
		info.Outcome = request.Outcome{Source: request.SourceUpstream, Reason: "not-in-sync"}
		w.WriteHeader(code)
	}
}

func TestFinishedRequestIsLoggedWithItsFields(t *testing.T) {
	header := http.Header{"Audit-Id": {"id"}, "User-Agent": {"kubectl"}}
	always := map[string]any{
		"audit_id": "id", "protocol": "HTTP/1.1", "remote": "192.0.2.1:1234", "user_agent": "kubectl",
	}
	tests := []struct {
		name, method, target string
		handler              func(http.ResponseWriter, *request.Info)
		want                 map[string]any
	}{
		{"from the cache", "GET", "/apis/apps/v1/namespaces/ns/deployments/d", fromCache, map[string]any{
			"verb": "get", "source": "cache", "reason": "fresh", "format": "json", "user": "jane", "code": int64(200), "bytes": int64(4),
			"group": "apps", "version": "v1", "resource": "deployments", "subresource": "", "namespace": "ns", "name": "d",
		}},
		{"forwarded", "DELETE", "/api/v1/namespaces/ns/pods/p", forwarded(409), map[string]any{
			"verb": "delete", "source": "upstream", "reason": "not-in-sync", "code": int64(409), "bytes": int64(0),
			"group": "", "version": "v1", "resource": "pods", "subresource": "", "namespace": "ns", "name": "p",
		}},
		{"transcoded", "GET", "/version", func(_ http.ResponseWriter, info *request.Info) {
			info.Outcome = request.Outcome{Source: request.SourceUpstream, Format: "yaml", Transcoded: true}
		}, map[string]any{
			"verb": "get", "source": "upstream", "format": "yaml", "transcoded": true, "path": "/version", "code": int64(0), "bytes": int64(0),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := respond(tt.method, tt.target, header, false, tt.handler)
			entries := a.log.All()
			if len(entries) != 1 || entries[0].Message != "request" || entries[0].LoggerName != "access" || entries[0].Level != zapcore.InfoLevel {
				t.Fatalf("logged %+v", entries)
			}
			got := entries[0].ContextMap()
			if _, ok := got["duration"]; !ok {
				t.Error("no duration")
			}
			delete(got, "duration")
			want := maps.Clone(always)
			maps.Copy(want, tt.want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A watch is logged when it opens. Its line at the end, the metric and the list of the last requests tell how it has ended. A watch
// that failed is in the list of failures, although its code is 200.
func TestEndOfAWatchIsLoggedCountedAndKept(t *testing.T) {
	source, err := os.ReadFile("request/watchend.go")
	declared := regexp.MustCompile(`WatchEnd += "(.+)"`).FindAllSubmatch(source, -1)
	if len(declared) == 0 {
		t.Fatalf("no WatchEnd is declared: %v", err)
	}
	for _, found := range declared {
		end := request.WatchEnd(found[1])
		a, _ := respond("GET", "/api/v1/pods?watch=1", nil, false, func(w http.ResponseWriter, info *request.Info) {
			forwarded(http.StatusOK)(w, info)
			info.Outcome.End = end
		})
		lines := a.log.All()
		if len(lines) != 2 || lines[0].Message != "watch opened" || lines[1].Message != "request" || lines[1].ContextMap()["end"] != string(end) {
			t.Errorf("%s: logged as %v", end, lines)
		}
		want := map[string]float64{string(end) + " upstream": 1}
		if got := counts(t, a.registry, "sluice_watch_ends_total", "source", "end"); !maps.Equal(got, want) {
			t.Errorf("counted %v, want %v", got, want)
		}
		class := clients.Passed
		if end.IsFailure() {
			class = clients.Failed
		}
		if last := a.kept.Last(class, nil, false); len(last) == 0 || last[0].End != string(end) {
			t.Errorf("%s: kept %+v", end, last)
		}
	}
	if a, _ := respond("GET", "/api/v1/pods?watch=1", nil, false, forwarded(http.StatusGone)); a.log.FilterMessage("watch opened").Len() > 0 {
		t.Error("a watch that is refused opens")
	}
}

// TestOnlyNotableRequestsAreLogged by default: all of them are 441 bytes each.
func TestOnlyNotableRequestsAreLogged(t *testing.T) {
	for name, tt := range map[string]struct {
		target string
		takes  time.Duration
		h      func(http.ResponseWriter, *request.Info)
		want   int
	}{
		"served":      {"/api/v1/pods", 0, fromCache, 0},
		"passed":      {"/api/v1/pods", 0, forwarded(200), 0},
		"absent":      {"/api/v1/pods", 0, forwarded(404), 0},
		"a conflict":  {"/api/v1/pods", 0, forwarded(409), 0},
		"almost slow": {"/api/v1/pods", slowAfter - 1, fromCache, 0},
		"a watch":     {"/api/v1/pods?watch=1", time.Hour, fromCache, 0},
		"slow":        {"/api/v1/pods", slowAfter, fromCache, 1},
		"forbidden":   {"/api/v1/pods", 0, forwarded(403), 1},
		"expired":     {"/api/v1/pods", 0, forwarded(410), 1},
		"an error":    {"/api/v1/pods", 0, forwarded(503), 1},
		"refused": {"/api/v1/pods", 0, func(w http.ResponseWriter, info *request.Info) {
			info.Outcome.Source = request.SourceGateway
			w.WriteHeader(429)
		}, 1},
		"a watch that is slow": {"/api/v1/pods?watch=1", 0, func(w http.ResponseWriter, info *request.Info) {
			fromCache(w, info)
			info.Outcome.End = "client-stalled"
		}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := accessTo(of(func(w http.ResponseWriter, info *request.Info) {
				tt.h(w, info)
				time.Sleep(tt.takes)
			}), zap.InfoLevel)
			a.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", tt.target, nil))
			if lines := a.log.All(); len(lines) != tt.want {
				t.Errorf("%s: %d lines, want %d: %v", name, len(lines), tt.want, lines)
			}
		})
	}
}

func TestAccessLogContainsNoCredentials(t *testing.T) {
	header := http.Header{
		"Authorization": {"Bearer sesame"}, "Cookie": {"sesame"}, "X-Remote-User": {"sesame"},
		"Sec-Websocket-Protocol": {"base64url.bearer.authorization.k8s.io.sesame"},
	}
	for _, target := range []string{"/api/v1/pods?token=sesame&watch=1", "/api/v1/pods?limit=sesame", "/version?sesame"} {
		a, _ := respond("GET", target, header, false, fromCache)
		for _, e := range a.log.All() {
			line, err := json.Marshal(e.ContextMap())
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(line), "sesame") {
				t.Errorf("%s: logged %s", target, line)
			}
		}
	}
}

func TestAccessLogNamesTheCallerAndWhomItActsFor(t *testing.T) {
	asked := http.Header{"Impersonate-User": {"asked"}}
	for _, tt := range []struct {
		name               string
		header             http.Header
		user, impersonated string
		as                 any
	}{
		{"no impersonation", nil, "jane", "", nil},
		{"a passed request", asked, "jane", "", "asked"},
		{"authorized by Sluice", asked, "jane", "joe", "joe"},
		{"nobody", asked, "", "", nil},
	} {
		a, _ := respond("GET", "/version", tt.header, false, func(_ http.ResponseWriter, info *request.Info) {
			if info.User = tt.user; tt.impersonated != "" {
				info.Impersonated = &user.DefaultInfo{Name: tt.impersonated}
			}
		})
		if got := a.log.All()[0].ContextMap()["impersonated_user"]; got != tt.as {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.as)
		}
	}
}

func TestCodeIsOfTheFinalResponse(t *testing.T) {
	for name, tt := range map[string]struct {
		handler func(http.ResponseWriter)
		want    int64
	}{
		"early hints":        {func(w http.ResponseWriter) { w.WriteHeader(http.StatusEarlyHints); w.WriteHeader(http.StatusNotFound) }, 404},
		"body without code":  {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x") }, 200},
		"protocol switch":    {func(w http.ResponseWriter) { w.WriteHeader(http.StatusSwitchingProtocols) }, 101},
		"the first of two":   {func(w http.ResponseWriter) { w.WriteHeader(http.StatusGone); w.WriteHeader(http.StatusOK) }, 410},
		"client disconnects": {func(http.ResponseWriter) {}, 0},
	} {
		a, _ := respond("GET", "/version", nil, false, func(w http.ResponseWriter, _ *request.Info) { tt.handler(w) })
		if got := a.log.All()[0].ContextMap()["code"]; got != tt.want {
			t.Errorf("%s: code %v, want %d", name, got, tt.want)
		}
	}
}

func TestSourceHeaderNeedsDebugHeaders(t *testing.T) {
	for outcome, want := range map[request.Outcome]string{
		{Source: "cache", Reason: "fresh"}:                           "cache; fresh",
		{Source: "upstream", Reason: "small-read", Transcoded: true}: "upstream; small-read; transcoded",
		{Source: "upstream"}:                                         "upstream",
	} {
		for debug, want := range map[bool]string{true: want, false: ""} {
			_, response := respond("GET", "/api/v1/pods", nil, debug, func(w http.ResponseWriter, info *request.Info) {
				info.Outcome = outcome
				w.WriteHeader(http.StatusOK)
			})
			if got := response.Header().Get("Sluice-Source"); got != want {
				t.Errorf("debug %v: got %q, want %q", debug, got, want)
			}
		}
	}
}

func TestRequestsAreCountedByLabels(t *testing.T) {
	tests := []struct {
		name, method, target string
		handler              func(http.ResponseWriter, *request.Info)
		labels               string // in the order of their names
	}{
		{"list in all namespaces", "GET", "/api/v1/pods", fromCache,
			"200  fresh pods cluster cache  LIST v1"},
		{"list in a namespace", "GET", "/api/v1/namespaces/ns/pods", fromCache,
			"200  fresh pods namespace cache  LIST v1"},
		{"subresource", "PUT", "/apis/apps/v1/namespaces/ns/deployments/d/scale", forwarded(200),
			"200 apps not-in-sync deployments resource upstream scale PUT v1"},
		{"an error does not prove that the resource exists", "GET", "/apis/any/v9/things", forwarded(404),
			"404 other not-in-sync other cluster upstream other LIST other"},
		{"nor does a preflight request", "OPTIONS", "/apis/any/v9/watch/things", forwarded(204),
			"204 other not-in-sync other cluster upstream other WATCH other"},
		{"unknown method", "BREW", "/pot", forwarded(405),
			"405  not-in-sync   upstream  other "},
	}
	for _, tt := range tests {
		a, _ := respond(tt.method, tt.target, nil, false, tt.handler)
		got := counts(t, a.registry, "sluice_request_total",
			"code", "group", "reason", "resource", "scope", "source", "subresource", "verb", "version")
		if want := map[string]float64{tt.labels: 1}; !maps.Equal(got, want) {
			t.Errorf("%s: counted by %v, want %v", tt.name, got, want)
		}
	}
}

func TestLongRunningRequestsHaveNoDuration(t *testing.T) {
	upgrade := http.Header{"Connection": {"Upgrade"}}
	for _, tt := range []struct {
		method, target string
		header         http.Header
		kind           string
	}{
		{"GET", "/api/v1/pods", nil, "readOnly"},
		{"GET", "/api/v1/namespaces/ns/pods/p", nil, "readOnly"},
		{"POST", "/api/v1/namespaces/ns/pods", nil, "mutating"},
		{"GET", "/api/v1/pods?watch=1", nil, "longRunning"},
		{"GET", "/api/v1/namespaces/ns/pods/p/log", nil, "longRunning"},
		{"GET", "/api/v1/namespaces/ns/pods/p/proxy/x", nil, "longRunning"},
		{"POST", "/api/v1/namespaces/ns/pods/p/exec", upgrade, "longRunning"},
	} {
		a, _ := respond(tt.method, tt.target, tt.header, false, forwarded(200))
		durations, _ := testutil.GatherAndCount(a.registry, "sluice_request_duration_seconds")
		if (durations == 0) != (tt.kind == "longRunning") {
			t.Errorf("%s %s: %d durations", tt.method, tt.target, durations)
		}
		want := map[string]float64{tt.kind: 0}
		if got := counts(t, a.registry, "sluice_current_inflight_requests", "request_kind"); !maps.Equal(got, want) {
			t.Errorf("%s %s: running %v, want %v", tt.method, tt.target, got, want)
		}
	}
}

// TestUnauthenticatedCallersPushNoRequestOfUsersOut: they can send as many requests as they like.
func TestUnauthenticatedCallersPushNoRequestOfUsersOut(t *testing.T) {
	for class, outcome := range map[clients.Outcome]request.Outcome{
		clients.Passed: {Source: request.SourceUpstream, Reason: "unknown-caller"}, clients.Refused: {Source: request.SourceGateway},
		clients.Failed: {Source: request.SourceUpstream, Unanswered: true}, clients.Served: {Source: request.SourceCache},
	} {
		var caller request.Caller
		var user string
		a := accessTo(of(func(w http.ResponseWriter, info *request.Info) {
			info.Caller, info.User, info.Outcome = caller, user, outcome
			w.WriteHeader(map[clients.Outcome]int{
				clients.Refused: http.StatusTooManyRequests, clients.Failed: http.StatusServiceUnavailable, clients.Passed: 200, clients.Served: 200,
			}[class])
		}), zap.InfoLevel)
		send := func(by request.Caller, name, path string) {
			caller, user = by, name
			a.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
		}
		send(request.BearerToken, "jane", "/api/v1/pods")
		for range 300 {
			send(request.Unauthenticated, "", "/version")
		}
		send(request.BearerToken, "joe", "/api/v1/pods")
		all := a.kept.Last(class, nil, true)
		if len(all) != 52 || all[0].User != "joe" || all[1].User != "nobody" || all[51].User != "jane" {
			t.Errorf("class %d: %d requests are kept, the last %+v", class, len(all), all[:min(len(all), 1)])
		}
	}
}

// TestACallerLearnsTheSourceOnlyOfWhatItMayRead, if it asks for it.
func TestACallerLearnsTheSourceOnlyOfWhatItMayRead(t *testing.T) {
	for name, tt := range map[string]struct {
		asked  string
		caller request.Caller
		source string
		code   int
		told   bool
	}{
		"from the cache":        {"?1", request.BearerToken, request.SourceCache, 200, true},
		"missing in the cache":  {"?1", request.BearerToken, request.SourceCache, 404, true},
		"passed":                {"?1", request.BearerToken, request.SourceUpstream, 200, true},
		"gone":                  {"?1", request.ClientCert, request.SourceUpstream, 410, true},
		"refused by a limit":    {"?1", request.BearerToken, request.SourceGateway, 429, true},
		"not asked":             {"", request.BearerToken, request.SourceCache, 200, false},
		"forbidden":             {"?1", request.BearerToken, request.SourceUpstream, 403, false},
		"not there, or not his": {"?1", request.BearerToken, request.SourceUpstream, 404, false},
		"may not act for them":  {"?1", request.ClientCert, request.SourceGateway, 403, false},
		"unauthenticated":       {"?1", request.Unauthenticated, request.SourceUpstream, 200, false},
	} {
		_, response := respond("GET", "/api/v1/pods", http.Header{"Sluice-Source": {tt.asked}}, false, func(w http.ResponseWriter, info *request.Info) {
			info.Caller, info.Outcome = tt.caller, request.Outcome{Source: tt.source, Reason: "reason"}
			w.WriteHeader(tt.code)
		})
		if told := response.Header().Get("Sluice-Source"); (told != "") != tt.told {
			t.Errorf("%s: told %q", name, told)
		}
	}
}
