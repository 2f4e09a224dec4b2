package proxy

import (
	"fmt"
	"net/http"

	"sluice/config"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// classes returns the limits of each class.
func classes(l *config.Limits) map[flowcontrol.Class]config.ClassLimit {
	return map[flowcontrol.Class]config.ClassLimit{
		flowcontrol.Reads: l.Reads, flowcontrol.Writes: l.Writes, flowcontrol.Leases: l.Leases,
		flowcontrol.Watches: l.Watches, flowcontrol.Sessions: l.Sessions,
	}
}

// flowOptions returns the options of flow control.
func flowOptions(l *config.Limits) flowcontrol.Options {
	o := flowcontrol.Options{
		Limits: map[flowcontrol.Class]flowcontrol.Limit{},
		Rate:   flowcontrol.Rate{PerSecond: float64(l.RequestsPerSecond), Burst: l.RequestBurst},
		Wait:   l.QueueWait.Duration,
	}
	for class, limit := range classes(l) {
		o.Limits[class] = flowcontrol.Limit{Total: limit.Total, PerUser: limit.PerUser}
	}
	return o
}

// connectionRate returns the limit of new connections.
func connectionRate(l *config.Limits) flowcontrol.Rate {
	return flowcontrol.Rate{PerSecond: float64(l.ConnectionsPerSecond), Burst: l.ConnectionBurst}
}

// upstreamLimits returns the limits of passed requests.
func upstreamLimits(l *config.Limits) flowcontrol.UpstreamLimits {
	u := flowcontrol.UpstreamLimits{Classes: map[flowcontrol.Class]int{}, Unauthenticated: l.UnauthenticatedUpstream, Wait: l.QueueWait.Duration}
	for class, limit := range classes(l) {
		u.Classes[class] = limit.Upstream
	}
	return u
}

// tooManyHeaders is the reason of a 431.
const tooManyHeaders = "too-many-headers"

// withHeaderLimit answers 431 to requests with more than fields header fields. The server limits their
// size; this limits what each of many short fields costs whoever handles it next.
func withHeaderLimit(fields int) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := 0
			for _, values := range r.Header {
				n += len(values)
			}
			if n <= fields {
				next.ServeHTTP(w, r)
				return
			}
			request.From(r.Context()).Outcome = request.Outcome{Source: request.SourceGateway, Reason: tooManyHeaders}
			response.Error(w, r, response.NewHeaderTooLarge(fmt.Sprintf("the request has %d header fields, more than %d", n, fields)))
		})
	}
}
