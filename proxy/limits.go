package proxy

import (
	"fmt"
	"net/http"

	"sluice/config"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// flowOptions returns the options of flow control.
func flowOptions(l *config.Limits) flowcontrol.Options {
	return flowcontrol.Options{
		Limits: map[flowcontrol.Class]flowcontrol.Limit{
			flowcontrol.Reads:    flowcontrol.Limit(l.Reads),
			flowcontrol.Writes:   flowcontrol.Limit(l.Writes),
			flowcontrol.Watches:  flowcontrol.Limit(l.Watches),
			flowcontrol.Sessions: flowcontrol.Limit(l.Sessions),
		},
		Rate: flowcontrol.Rate{PerSecond: float64(l.RequestsPerSecond), Burst: l.RequestBurst},
		Wait: l.QueueWait.Duration,
	}
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
