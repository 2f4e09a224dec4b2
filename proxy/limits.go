package proxy

import (
	"fmt"
	"net/http"

	"sluice/config"
	"sluice/proxy/accounts"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/why"
)

// Totals returns how much of each resource there is for callers, by the configuration and the machine.
func Totals(l *config.Limits, m accounts.Machine) accounts.Totals {
	t := accounts.TotalsOf(m, l.Seats)
	if l.Connections > 0 {
		t[accounts.Connections] = int64(l.Connections)
	}
	if l.UpstreamStreams > 0 {
		t[accounts.Streams] = min(int64(l.UpstreamStreams), max(64, m.Descriptors/4))
	}
	return t
}

// tooManyHeaders is the reason of a 431.
const tooManyHeaders = "too-many-headers"

// withHeaderLimit answers 431 to requests with more than fields header fields. The server limits their
// size; this limits what each of many short fields costs whoever handles it next.
func withHeaderLimit(fields int) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := headerFields(r.Header)
			if !request.From(r.Context()).Why.Rule(why.Meaning, n <= fields, func() string { return fmt.Sprint("header fields: ", n) }) {
				request.From(r.Context()).Outcome = request.Outcome{Source: request.SourceGateway, Reason: tooManyHeaders}
				response.Error(w, r, response.NewHeaderTooLarge(message.TooManyHeaders.Say(n, fields)))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// headerFields is no part of its caller, whose stack stays while a watch waits.
//
//go:noinline
func headerFields(h http.Header) (n int) {
	for _, values := range h {
		n += len(values)
	}
	return n
}
