package proxy

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/proxy/request"
	"sluice/proxy/serve"
)

// Metrics are the metrics of API requests. Names, labels and label values are those of the
// apiserver's request metrics with the prefix sluice_ instead of apiserver_, so that dashboards can
// be ported by replacing the prefix.
type Metrics struct {
	total      *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	inflight   *prometheus.GaugeVec
	transcoded *prometheus.CounterVec
	reads      *serve.Metrics
}

// NewMetrics registers the metrics with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		reads: serve.NewMetrics(r),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_request_total",
			Help: "Finished requests by source (cache, upstream or gateway) and reason.",
		}, []string{"verb", "group", "version", "resource", "subresource", "scope", "code", "source", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:                            "sluice_request_duration_seconds",
			Help:                            "Duration of requests in seconds, except long-running requests.",
			Buckets:                         []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"verb", "group", "version", "resource", "source"}),
		inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_current_inflight_requests", Help: "Requests being served.",
		}, []string{"request_kind"}),
		transcoded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_transcoded_requests_total",
			Help: "Forwarded requests that were transcoded, by the format of the response; empty if only the request body was transcoded.",
		}, []string{"format"}),
	}
	r.MustRegister(m.total, m.duration, m.inflight, m.transcoded)
	return m
}

// Collectors returns collectors of the figures of flow control, taken at each scrape.
func (g *Gateway) Collectors() []prometheus.Collector {
	return []prometheus.Collector{g.connections, g.control, g.places, g.slowReaders, g.cpu}
}

// other replaces label values that a client could choose freely, which keeps the number of series bounded.
const other = "other"

func (m *Metrics) begin(info *request.Info) { m.inflight.WithLabelValues(kindOf(info)).Inc() }

func (m *Metrics) end(method string, info *request.Info, code int, duration time.Duration) {
	m.inflight.WithLabelValues(kindOf(info)).Dec()
	group, version, resource, subresource := info.APIGroup, info.APIVersion, info.Resource, info.Subresource
	succeeded := code >= http.StatusOK && code < http.StatusBadRequest
	exists := info.Outcome.Source == request.SourceCache || succeeded && method != http.MethodOptions
	if info.IsResourceRequest && !exists {
		// A failed request does not prove that the resource exists. Nor does a preflight request (CORS), which
		// the apiserver answers for any path and before it authenticates anybody.
		group, version, resource, subresource = other, other, other, other
	}
	verb, scope := verbOf(info), scopeOf(info)
	m.total.WithLabelValues(verb, group, version, resource, subresource, scope, strconv.Itoa(code),
		info.Outcome.Source, info.Outcome.Reason).Inc()
	if info.Outcome.Transcoded {
		m.transcoded.WithLabelValues(info.Outcome.Format).Inc()
	}
	if kindOf(info) != "longRunning" {
		m.duration.WithLabelValues(verb, group, version, resource, info.Outcome.Source).Observe(duration.Seconds())
	}
}

func kindOf(info *request.Info) string {
	switch {
	case info.Verb == "watch" || info.Upgrade || info.Subresource == "log" || info.Subresource == "proxy":
		return "longRunning"
	case info.Verb == "get" || info.Verb == "list":
		return "readOnly"
	}
	return "mutating"
}

func verbOf(info *request.Info) string {
	switch info.Verb {
	case "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy", "post", "put", "head", "options":
		return info.Verb
	}
	return other
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
