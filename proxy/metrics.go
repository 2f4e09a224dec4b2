package proxy

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/proxy/clients"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/serve"
	"sluice/proxy/slo"
	"sluice/proxy/trace"
)

// Metrics are the metrics of API requests. Names and labels follow the apiserver's request metrics, with the
// prefix sluice_ instead of apiserver_.
type Metrics struct {
	total     *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	bytes     *prometheus.CounterVec
	inflight  *prometheus.GaugeVec
	avoided   *prometheus.CounterVec
	watchEnds *prometheus.CounterVec
	staleness *prometheus.HistogramVec
	available slo.Objective
	recent    slo.Objective
	reads     *serve.Metrics
	// Clients counts the costs of each client.
	Clients *clients.Table
}

const watchEndsHelp = `Watches that have ended, by "source" and "end", which docs/troubleshooting.md lists.`

// NewMetrics registers the metrics with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		reads: serve.NewMetrics(r), Clients: clients.NewTable(),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_request_total",
			Help: `Finished requests, a watch when it ends. "source" is "cache" if they are served, "upstream" if they pass, or ` +
				`"gateway" if Sluice answers; whoever answers 401, 403 or 429 refuses; "verb" is as in the apiserver's metrics; "code" is 0 if the client closed the request first. For ` +
				`failed passed requests, "group" to "subresource" are "other".`,
		}, []string{"verb", "group", "version", "resource", "subresource", "scope", "code", "source", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:                            "sluice_request_duration_seconds",
			Help:                            "Duration of requests in seconds, without watches, upgrades, logs and proxied requests.",
			Buckets:                         []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"verb", "group", "version", "resource", "source"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_response_bytes_total",
			Help: `Length of the bodies of responses: "stage" is "encoded" before Sluice compressed them, and "sent" as ` +
				"written. What the apiserver compressed counts as it came. A watch counts while it is open.",
		}, []string{"verb", "group", "version", "resource", "source", "stage"}),
		inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_current_inflight_requests",
			Help: `Running requests, open watches included: "request_kind" is "readOnly", "mutating" or "longRunning".`,
		}, []string{"request_kind"}),
		watchEnds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_watch_ends_total", Help: watchEndsHelp,
		}, []string{"source", "end"}),
		avoided: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_avoided_upstream_cpu_seconds_total",
			Help: "CPU time of the apiserver that reads from the cache have spared, at least, by list prices.",
		}, []string{"group", "version", "resource"}),
		staleness: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:                        "sluice_served_staleness_seconds",
			Help:                        "Age of states from the cache when their responses began, by their proof.",
			Buckets:                     []float64{.01, .1, 1, 5, 10, 30, 60, recentWithin.Seconds(), 120, 300, 600, 1800},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{"proof"}),
		available: slo.New(r, "availability"), recent: slo.New(r, "freshness"),
	}
	r.MustRegister(m.total, m.duration, m.bytes, m.inflight, m.avoided, m.staleness, m.watchEnds)
	return m
}

// Collectors returns collectors of the figures of flow control, taken at each scrape.
func (g *Gateway) Collectors() []prometheus.Collector {
	all := []prometheus.Collector{g.options.Memory}
	for name, q := range map[string]*limits.Queue{
		"apiserver": g.passing, "unauthenticated": g.unauthenticated, "cpu": g.options.CPU.Queue,
	} {
		gauge := func(metric, help string, number func() int) {
			o := prometheus.GaugeOpts{Name: metric, Help: help, ConstLabels: prometheus.Labels{"queue": name}}
			all = append(all, prometheus.NewGaugeFunc(o, func() float64 { return float64(number()) }))
		}
		gauge("sluice_queue_places", "Places of a queue.", func() (n int) { n, _, _ = q.Numbers(); return n })
		gauge("sluice_queue_taken", "Places of a queue that are taken.", func() (n int) { _, n, _ = q.Numbers(); return n })
		gauge("sluice_queue_waiting", "Requests that wait for their places.", func() (n int) { _, _, n = q.Numbers(); return n })
	}
	return all
}

// other replaces label values that a client could choose freely, which keeps the number of series bounded.
const other = "other"

func (m *Metrics) begin(info *request.Info) { m.inflight.WithLabelValues(kindOf(info)).Inc() }

func (m *Metrics) end(r *http.Request, info *request.Info, code int, duration time.Duration) {
	m.inflight.WithLabelValues(kindOf(info)).Dec()
	group, version, resource, subresource := named(r, info, code)
	verb, scope := verbOf(r, info), scopeOf(info)
	m.total.WithLabelValues(verb, group, version, resource, subresource, scope, strconv.Itoa(code),
		info.Outcome.Source, info.Outcome.Reason).Inc()
	if end := info.Outcome.End; end != "" && code == http.StatusOK {
		m.watchEnds.WithLabelValues(info.Outcome.Source, string(end)).Inc()
	}
	if kindOf(info) != "longRunning" {
		observe(m.duration.WithLabelValues(verb, group, version, resource, info.Outcome.Source), duration, info.Span)
	}
}

// recentWithin is the age that a state is to have at most: a bookmark comes about every minute.
const recentWithin = 90 * time.Second

// respond counts a response whose header is about to be written.
func (m *Metrics) respond(info *request.Info, code int) {
	o := &info.Outcome
	if info.Caller != request.Unauthenticated {
		own := o.Source == request.SourceGateway || o.Unanswered
		m.available.Count(!own || code != http.StatusTooManyRequests && code < http.StatusInternalServerError)
	}
	if !o.AsOf.Known.IsZero() {
		age := time.Since(o.AsOf.Known)
		m.staleness.WithLabelValues(o.AsOf.Proof).Observe(age.Seconds())
		m.recent.Count(age <= recentWithin)
	}
}

// observe observes a duration, with the trace of a sampled request as its exemplar.
func observe(o prometheus.Observer, d time.Duration, s trace.Span) {
	if s.Recorded() {
		o.(prometheus.ExemplarObserver).ObserveWithExemplar(d.Seconds(), prometheus.Labels{"trace_id": s.TraceID()})
		return
	}
	o.Observe(d.Seconds())
}

// named returns the labels that name the resource of a request.
func named(r *http.Request, info *request.Info, code int) (group, version, resource, subresource string) {
	if info.IsResourceRequest && !exists(r, info, code) || !info.Nameable() {
		// A failed request does not prove that the resource exists. Nor does a preflight request (CORS), which
		// the apiserver answers for any path and before it authenticates anybody.
		return other, other, other, other
	}
	return info.APIGroup, info.APIVersion, info.Resource, info.Subresource
}

// exists reports whether the response shows that the resource of a request exists.
func exists(r *http.Request, info *request.Info, code int) bool {
	succeeded := code >= http.StatusOK && code < http.StatusBadRequest
	return info.Outcome.Source == request.SourceCache || succeeded && r.Method != http.MethodOptions
}

// wrote counts a part of the body of a response, by its length as written and before Sluice compressed it.
func (m *Metrics) wrote(r *http.Request, info *request.Info, code int, sent, encoded int64) {
	group, version, resource, _ := named(r, info, code)
	labels := []string{verbOf(r, info), group, version, resource, info.Outcome.Source}
	m.bytes.WithLabelValues(append(labels, "sent")...).Add(float64(sent))
	m.bytes.WithLabelValues(append(labels, "encoded")...).Add(float64(encoded))
}

func kindOf(info *request.Info) string {
	switch {
	case flowcontrol.Lasts(info):
		return "longRunning"
	case info.Verb == "get" || info.Verb == "list":
		return "readOnly"
	}
	return "mutating"
}

func scopeOf(info *request.Info) string {
	switch {
	case !info.IsResourceRequest:
		return ""
	case info.Name != "":
		return "resource"
	case info.Namespace != "":
		return "namespace"
	}
	return "cluster"
}
