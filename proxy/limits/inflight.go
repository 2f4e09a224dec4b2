package limits

import (
	"net/http"
	"sync/atomic"
)

// InFlight serves at most so many requests at a time, and answers the others with 429 and Retry-After.
func InFlight(next http.Handler, most int64) http.Handler {
	var running atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer running.Add(-1)
		if running.Add(1) > most {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}
