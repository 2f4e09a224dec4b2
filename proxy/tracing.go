package proxy

import (
	"net/http"
	"strings"

	"sluice/proxy/request"
	"sluice/proxy/trace"
)

// withTrace records a span for each request that is sampled, which depends on the caller, from its arrival on. The
// access log ends it.
func withTrace(t *trace.Tracer) func(http.Handler) http.Handler {
	if t == nil {
		return func(next http.Handler) http.Handler { return next }
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			info := request.From(r.Context())
			ctx, span := t.Begin(r, info.Acting, info.Received)
			if span.Recorded() {
				info.Span = span
				if waited := info.TokenReview; !waited.Began.IsZero() {
					trace.Past(ctx, "token review", waited.Began, waited.Ended)
				}
				request.SetContext(r, ctx)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// endSpan ends the span of a request with its outcome: a watch when it begins, since its client waits for no more.
func endSpan(r *http.Request, info *request.Info, code int) {
	s := info.Span
	if !s.Recorded() {
		return
	}
	route := routeOf(named(r, info, code))
	s.Name(trace.Method(r) + " " + route)
	s.Set("http.request.method", trace.Method(r))
	s.Set("http.route", route)
	s.Set("url.scheme", "https")
	s.Set("network.protocol.version", strings.TrimPrefix(r.Proto, "HTTP/"))
	s.Set("sluice.verb", verbOf(r, info))
	s.Set("sluice.source", info.Outcome.Source)
	s.Set("sluice.reason", info.Outcome.Reason)
	s.Set("sluice.format", info.Outcome.Format)
	if version := info.Outcome.AsOf.Version; version > 0 {
		s.SetInt("sluice.resource_version", int64(version))
	}
	s.Status(code)
	s.End()
}

// routeOf returns the route of a request by the labels of its resource.
func routeOf(group, version, resource, subresource string) string {
	if resource == "" || resource == other {
		return other
	}
	return strings.TrimSuffix(request.GroupVersionPath(group, version)+"/"+resource+"/"+subresource, "/")
}
