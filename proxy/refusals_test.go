package proxy

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"sluice/proxy/flood"
	"sluice/proxy/request"
	"sluice/proxy/why"
)

// ending is how a request ends.
type ending struct {
	code   int
	caller request.Caller
	source string
	reason string
}

// logged sends as many requests as a flood has in a period, which end as endings do in turn. It returns
// the number of lines about single requests, and the fields of the others.
func logged(t *testing.T, level zapcore.Level, n int, endings ...ending) (requests int, others []map[string]any) {
	t.Helper()
	core, logs := observer.New(level)
	registry, turn := prometheus.NewRegistry(), 0
	h := chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		end, info := endings[turn%len(endings)], request.From(r.Context())
		turn++
		info.Caller, info.Outcome = end.caller, request.Outcome{Source: end.source, Reason: end.reason}
		w.WriteHeader(end.code)
	}), withRequestInfo, withAccessLog(zap.New(core), NewMetrics(registry), new(atomic.Bool), new(why.Ring)))
	for range n {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/version", nil))
	}
	time.Sleep(2 * flood.Period) // of virtual time
	if counted := counted(t, registry); counted != n {
		t.Errorf("the metrics count %d requests, want %d", counted, n)
	}
	for _, e := range logs.All() {
		if e.Message == "request" {
			requests++
			continue
		}
		if e.Message != "more requests refused" || e.LoggerName != "access" {
			t.Errorf("logged %+v", e)
		}
		others = append(others, e.ContextMap())
	}
	return requests, others
}

func counted(t *testing.T, from *prometheus.Registry) (n int) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "sluice_request_total" {
			for _, series := range f.GetMetric() {
				n += int(series.GetCounter().GetValue())
			}
		}
	}
	return n
}

// A client without a place wrote 22,284 lines in 35 seconds.
func TestFloodOfRefusalsWritesFewLinesThatCountAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, others := logged(t, zap.InfoLevel, 999,
			ending{429, request.BearerToken, request.SourceGateway, "too-many-per-second"},
			ending{401, request.Unauthenticated, request.SourceUpstream, "unknown-caller"},
			ending{403, request.ClientCert, request.SourceGateway, ""})
		reasons := map[string]int{"429 too-many-per-second": 333 - 4, "401 unknown-caller": 333 - 3, "403": 333 - 3}
		want := []map[string]any{{"requests": int64(999 - flood.Lines), "reasons": reasons}}
		if diff := cmp.Diff(want, others); diff != "" || requests != flood.Lines {
			t.Errorf("%d requests have a line; others (-want +got):\n%s", requests, diff)
		}
	})
}

func TestRequestsThatAreNoRefusalsAreAllLogged(t *testing.T) {
	for _, end := range []ending{
		{200, request.BearerToken, request.SourceCache, "any-version"},
		{403, request.BearerToken, request.SourceUpstream, "not-allowed"},
		{404, request.ClientCert, request.SourceCache, "any-version"},
		{200, request.BearerToken, request.SourceGateway, "version-before-history"}, // a watch with an ERROR event
		{200, request.Unauthenticated, request.SourceUpstream, "unknown-caller"},
		{404, request.Unauthenticated, request.SourceUpstream, "unknown-caller"}, // without tokens, nobody is known
	} {
		synctest.Test(t, func(t *testing.T) {
			if requests, others := logged(t, zap.InfoLevel, 100, end); requests != 100 || len(others) > 0 {
				t.Errorf("%+v: %d lines, and %v", end, requests, others)
			}
		})
	}
}

func TestFewRefusalsAreAllLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := ending{429, request.BearerToken, request.SourceGateway, "too-many-at-once"}
		if requests, others := logged(t, zap.InfoLevel, flood.Lines, end); requests != flood.Lines || len(others) > 0 {
			t.Errorf("%d lines, and %v", requests, others)
		}
	})
}

func TestRefusalsAreNotLoggedBelowTheLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := ending{429, request.BearerToken, request.SourceGateway, "too-many-at-once"}
		if requests, others := logged(t, zap.WarnLevel, 100, end); requests > 0 || len(others) > 0 {
			t.Errorf("%d lines, and %v", requests, others)
		}
	})
}
