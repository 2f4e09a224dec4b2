package proxy

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sluice/proxy/limits"
	"sluice/proxy/request"
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
	turn := 0
	a := accessTo(of(func(w http.ResponseWriter, info *request.Info) {
		end := endings[turn%len(endings)]
		turn++
		info.Caller, info.Outcome = end.caller, request.Outcome{Source: end.source, Reason: end.reason}
		w.WriteHeader(end.code)
	}), level)
	a.options.all.Store(true)
	for range n {
		a.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/version", nil))
	}
	if counted := counts(t, a.registry, "sluice_request_total")[""]; counted != float64(n) {
		t.Errorf("the metrics count %v requests, want %d", counted, n)
	}
	return a.log.FilterMessage("request").Len()
}

func TestOfManyRefusalsSomeAreLogged(t *testing.T) {
	tooMany := ending{429, request.BearerToken, request.SourceGateway, "too-many-at-once"}
	flood := []ending{
		tooMany, {401, request.Unauthenticated, request.SourceUpstream, "unknown-caller"}, {403, request.ClientCert, request.SourceGateway, ""},
	}
	for _, tt := range []struct {
		name    string
		level   zapcore.Level
		n       int
		endings []ending
		lines   int
	}{
		{"a flood of refusals", zap.InfoLevel, 999, flood, limits.SampledLines},
		{"few refusals", zap.InfoLevel, limits.SampledLines, []ending{tooMany}, limits.SampledLines},
		{"below the level", zap.WarnLevel, 100, []ending{tooMany}, 0},
		{"served", zap.InfoLevel, 100, []ending{{200, request.BearerToken, request.SourceCache, "any-version"}}, 100},
		{"absent in the cache", zap.InfoLevel, 100, []ending{{404, request.ClientCert, request.SourceCache, "any-version"}}, 100},
		{"forbidden by the apiserver", zap.InfoLevel, 100, []ending{{403, request.BearerToken, request.SourceUpstream, "not-allowed"}}, 100},
		{"a watch with an ERROR event", zap.InfoLevel, 100, []ending{{200, request.BearerToken, request.SourceGateway, "version-before-history"}}, 100},
		{"passed", zap.InfoLevel, 100, []ending{{200, request.Unauthenticated, request.SourceUpstream, "unknown-caller"}}, 100},
		{"absent, nobody is known", zap.InfoLevel, 100, []ending{{404, request.Unauthenticated, request.SourceUpstream, "unknown-caller"}}, 100},
	} {
		synctest.Test(t, func(t *testing.T) {
			if lines := logged(t, tt.level, tt.n, tt.endings...); lines != tt.lines {
				t.Errorf("%s: %d lines, want %d", tt.name, lines, tt.lines)
			}
		})
	}
}
