package admin

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice/proxy/limits"
)

// Options configures the admin handler.
type Options struct {
	// Live are the checks of /livez and /healthz, Ready those of /readyz.
	Live, Ready *Checks
	// Notes, if not nil, returns lines to append to a verbose /readyz. They do not
	// influence readiness.
	Notes func() []string
	// Protect wraps the handlers of everything but health checks; nil leaves them open.
	Protect func(http.Handler) http.Handler
	// Metrics are served at /metrics.
	Metrics prometheus.Gatherer
	// Status serves the status page at / and its parts.
	Status http.Handler
	// Config returns the running configuration, without secrets, for /configz.
	Config func() any
	// Hosts are accepted in the Host header, besides localhost and IP addresses.
	Hosts []string
	// Profiling enables /debug/pprof.
	Profiling bool
}

const (
	// mostInFlight is how many scrapes are answered at a time, and how many requests of each other kind that take CPU. None of
	// them waits for its client.
	mostInFlight = 4
	// answerWithin bounds each of them.
	answerWithin = 10 * time.Second
)

// few has next answer few requests at a time.
func few(next http.Handler) http.Handler {
	return http.TimeoutHandler(limits.InFlight(next, mostInFlight), answerWithin, "")
}

// Handler returns the handler of the admin listener.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	protect := o.Protect
	if protect == nil {
		protect = func(h http.Handler) http.Handler { return h }
	}
	for _, path := range []string{"/livez", "/healthz"} {
		mux.Handle("GET "+path, o.Live.handler(path, nil))
		mux.Handle("GET "+path+"/", o.Live.handler(path, nil))
	}
	mux.Handle("GET /readyz", o.Ready.handler("/readyz", o.Notes))
	mux.Handle("GET /readyz/", o.Ready.handler("/readyz", o.Notes))
	mux.Handle("GET /metrics", protect(promhttp.HandlerFor(o.Metrics, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: mostInFlight, Timeout: answerWithin,
	})))
	for _, pattern := range []string{"GET /{$}", "GET /r/", "GET /limits", "GET /clients", "GET /watches", "GET /why", "/see/"} {
		mux.Handle(pattern, protect(few(o.Status)))
	}
	mux.Handle("GET /configz", protect(few(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		_ = e.Encode(o.Config()) // an error means that the client is gone
	}))))
	if o.Profiling { // profiles last
		profiles := http.NewServeMux()
		profiles.HandleFunc("/debug/pprof/", pprof.Index)
		profiles.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		profiles.HandleFunc("/debug/pprof/profile", pprof.Profile)
		profiles.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		profiles.HandleFunc("/debug/pprof/trace", pprof.Trace)
		mux.Handle("GET /debug/pprof/", protect(profiles))
	}
	return withHosts(mux, o.Hosts)
}
