package admin

import (
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options sets up the admin handler.
type Options struct {
	Live, Ready *Checks
	// Notes are lines for the verbose form of readiness about what does not
	// count for it; nil has none.
	Notes   func() []string
	Metrics prometheus.Gatherer
	// Profiling serves /debug/pprof.
	Profiling bool
}

// Handler returns the handler of the admin listener.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/livez", "/healthz"} {
		mux.Handle("GET "+path, o.Live.handler(path, nil))
		mux.Handle("GET "+path+"/", o.Live.handler(path, nil))
	}
	mux.Handle("GET /readyz", o.Ready.handler("/readyz", o.Notes))
	mux.Handle("GET /readyz/", o.Ready.handler("/readyz", o.Notes))
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	if o.Profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}
