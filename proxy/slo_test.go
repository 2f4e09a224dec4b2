package proxy

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/proxy/request"
)

// Unauthenticated callers count for no objective: else a flood by them would wake somebody.
func TestRequestsMeetAndMissObjectives(t *testing.T) {
	own, upstream, named, nobody := request.SourceGateway, request.SourceUpstream, request.BearerToken, request.Unauthenticated
	cached := func(age time.Duration) request.Outcome {
		return request.Outcome{Source: request.SourceCache, AsOf: request.AsOf{Version: 1, Known: time.Now().Add(-age), Proof: "any-version"}}
	}
	met, missed := map[string]float64{"met availability": 1}, map[string]float64{"missed availability": 1}
	for _, tt := range []struct {
		name    string
		caller  request.Caller
		outcome request.Outcome
		code    int
		want    map[string]float64
	}{
		{"served", named, request.Outcome{Source: request.SourceCache}, 200, met},
		{"served a recent state", named, cached(time.Second), 200, map[string]float64{"met availability": 1, "met freshness": 1}},
		{"served an old state", named, cached(recentWithin + time.Second), 200, map[string]float64{"met availability": 1, "missed freshness": 1}},
		{"refused", named, request.Outcome{Source: own}, 429, missed},
		{"failed", request.ClientCert, request.Outcome{Source: upstream, Unanswered: true}, 502, missed},
		{"invalid", request.ClientCert, request.Outcome{Source: own}, 400, met},
		{"the apiserver fails", named, request.Outcome{Source: upstream}, 500, met},
		{"an unauthenticated caller is refused", nobody, request.Outcome{Source: own}, 429, map[string]float64{}},
		{"an unauthenticated caller gets no answer", nobody, request.Outcome{Source: upstream, Unanswered: true}, 502, map[string]float64{}},
	} {
		a, _ := respond("GET", "/api/v1/pods", nil, false, func(w http.ResponseWriter, info *request.Info) {
			info.Caller, info.Outcome = tt.caller, tt.outcome
			w.WriteHeader(tt.code)
		})
		got := counts(t, a.registry, "sluice_slo_requests_total", "slo", "result")
		maps.DeleteFunc(got, func(_ string, n float64) bool { return n == 0 })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
