package proxy

import (
	"net/http"

	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// tooManyHeaders is the reason of a 431.
const tooManyHeaders = "too-many-headers"

// withHeaderLimit answers 431 to requests with more than fields header fields. The server limits their
// size; this limits the cost of each of many short fields in later handlers.
func withHeaderLimit(fields int) func(http.Handler) http.Handler {
	return admits(func(w http.ResponseWriter, r *http.Request) bool {
		n := 0
		for _, values := range r.Header {
			n += len(values)
		}
		if n > fields {
			request.From(r.Context()).Outcome = request.Outcome{Source: request.SourceGateway, Reason: tooManyHeaders}
			response.Error(w, r, response.NewHeaderTooLarge(message.TooManyHeaders.Say(n, fields)))
		}
		return n <= fields
	})
}

// admits returns a filter that passes on the requests that a check admits; it answers the others. Its stack is gone while a
// watch waits.
func admits(check func(http.ResponseWriter, *http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if check(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}
}
