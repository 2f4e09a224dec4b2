package admin

import (
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options configures the admin handler.
type Options struct {
	// Live are the checks of /livez and /healthz, Ready those of /readyz.
	Live, Ready *Checks
	// Notes, if not nil, returns lines to append to a verbose successful /readyz. They do not
	// influence readiness.
	Notes func() []string
	// Metrics are served at /metrics.
	Metrics prometheus.Gatherer
	// Hosts are accepted in the Host header, besides localhost and IP addresses.
	Hosts []string
	// Profiling enables /debug/pprof.
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
	return withHosts(mux, o.Hosts)
}
