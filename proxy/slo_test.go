package proxy

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"sluice/proxy/request"
)

// Else a flood by unauthenticated callers would wake somebody.
func TestOnlyOwnErrorsToNamedCallersMissTheirObjective(t *testing.T) {
	own, upstream := request.SourceGateway, request.SourceUpstream
	tests := []struct {
		name        string
		caller      request.Caller
		outcome     request.Outcome
		code        int
		met, missed float64
	}{
		{"served", request.BearerToken, request.Outcome{Source: request.SourceCache}, 200, 1, 0},
		{"refused", request.BearerToken, request.Outcome{Source: own}, 429, 0, 1},
		{"failed", request.ClientCert, request.Outcome{Source: upstream, Unanswered: true}, 502, 0, 1},
		{"invalid", request.ClientCert, request.Outcome{Source: own}, 400, 1, 0},
		{"the apiserver fails", request.BearerToken, request.Outcome{Source: upstream}, 500, 1, 0},
		{"an unauthenticated caller is refused", request.Unauthenticated, request.Outcome{Source: own}, 429, 0, 0},
		{"an unauthenticated caller gets no answer", request.Unauthenticated, request.Outcome{Source: upstream, Unanswered: true}, 502, 0, 0},
	}
	for _, tt := range tests {
		got := respond("GET", "/api/v1/pods", nil, false, func(w http.ResponseWriter, info *request.Info) {
			info.Caller, info.Outcome = tt.caller, tt.outcome
			w.WriteHeader(tt.code)
		})
		checkObjective(t, tt.name, got, "availability", tt.met, tt.missed)
		checkObjective(t, tt.name, got, "freshness", 0, 0)
	}
}

func TestOldStatesMissTheirObjective(t *testing.T) {
	for age, want := range map[time.Duration][2]float64{time.Second: {1, 0}, recentWithin + time.Second: {0, 1}} {
		got := respond("GET", "/api/v1/pods", nil, false, func(w http.ResponseWriter, info *request.Info) {
			shown := request.AsOf{Version: 1, Known: time.Now().Add(-age), Proof: "any-version"}
			info.Outcome = request.Outcome{Source: request.SourceCache, AsOf: shown}
			w.WriteHeader(http.StatusOK)
		})
		checkObjective(t, age.String(), got, "freshness", want[0], want[1])
	}
}

func checkObjective(t *testing.T, name string, got served, objective string, met, missed float64) {
	t.Helper()
	families, err := got.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if l := m.GetLabel(); f.GetName() == "sluice_slo_requests_total" && l[1].GetValue() == objective {
				counted[l[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	if want := map[string]float64{"met": met, "missed": missed}; !maps.Equal(counted, want) {
		t.Errorf("%s: %s counts %v, want %v", name, objective, counted, want)
	}
}
