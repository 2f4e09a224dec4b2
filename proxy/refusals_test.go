package proxy

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"sluice/proxy/limits"
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
// the number of lines.
func logged(t *testing.T, level zapcore.Level, n int, endings ...ending) (requests int) {
	t.Helper()
	core, logs := observer.New(level)
	registry, turn := prometheus.NewRegistry(), 0
	o := new(accessOptions)
	o.all.Store(true)
	h := chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		end, info := endings[turn%len(endings)], request.From(r.Context())
		turn++
		info.Caller, info.Outcome = end.caller, request.Outcome{Source: end.source, Reason: end.reason}
		w.WriteHeader(end.code)
	}), withRequestInfo, withAccessLog(zap.New(core), NewMetrics(registry), o, new(why.Ring)))
	for range n {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/version", nil))
	}
	if counted := counted(t, registry); counted != n {
		t.Errorf("the metrics count %d requests, want %d", counted, n)
	}
	return logs.FilterMessage("request").Len()
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
func TestFloodOfRefusalsWritesFewLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := logged(t, zap.InfoLevel, 999,
			ending{429, request.BearerToken, request.SourceGateway, "too-many-per-second"},
			ending{401, request.Unauthenticated, request.SourceUpstream, "unknown-caller"},
			ending{403, request.ClientCert, request.SourceGateway, ""})
		if requests != limits.SampledLines {
			t.Errorf("%d requests have a line", requests)
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
			if requests := logged(t, zap.InfoLevel, 100, end); requests != 100 {
				t.Errorf("%+v: %d lines", end, requests)
			}
		})
	}
}

func TestFewRefusalsAreAllLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := ending{429, request.BearerToken, request.SourceGateway, "too-many-at-once"}
		if requests := logged(t, zap.InfoLevel, limits.SampledLines, end); requests != limits.SampledLines {
			t.Errorf("%d lines", requests)
		}
	})
}

func TestRefusalsAreNotLoggedBelowTheLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := ending{429, request.BearerToken, request.SourceGateway, "too-many-at-once"}
		if requests := logged(t, zap.WarnLevel, 100, end); requests > 0 {
			t.Errorf("%d lines", requests)
		}
	})
}
