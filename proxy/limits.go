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
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if withinHeaderLimit(w, r, fields) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

// withinHeaderLimit reports whether a request has at most so many header fields, and answers it otherwise. It is no part of its
// caller, whose stack stays while a watch waits.
//
//go:noinline
func withinHeaderLimit(w http.ResponseWriter, r *http.Request, fields int) bool {
	n := 0
	for _, values := range r.Header {
		n += len(values)
	}
	info := request.From(r.Context())
	if n <= fields {
		return true
	}
	info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: tooManyHeaders}
	response.Error(w, r, response.NewHeaderTooLarge(message.TooManyHeaders.Say(n, fields)))
	return false
}
