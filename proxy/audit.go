package proxy

import (
	"net/http"
	"time"

	"sluice/proxy/audit"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// withAudit records requests in the audit log when they end, and a watch also when it starts. A nil log records
// nothing.
func withAudit(log *audit.Log) func(http.Handler) http.Handler {
	if log == nil {
		return func(next http.Handler) http.Handler { return next }
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			info, received := request.From(r.Context()), time.Now()
			rec := response.RecorderOf(w)
			rec.OnHeader(func(code int) {
				if info.Verb == "watch" && code == http.StatusOK && info.Audits() {
					log.ResponseStarted(r, received, code)
				}
			})
			defer func() {
				failure := recover()
				switch {
				case !info.Audits():
				case failure != nil && failure != http.ErrAbortHandler:
					log.Panic(r, received)
				default:
					log.ResponseComplete(r, received, rec.Code)
				}
				if failure != nil {
					panic(failure)
				}
			}()
			next.ServeHTTP(rec, r)
		})
	}
}
