package proxy

import (
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"sluice/proxy/request"
)

// withRecord logs and counts each request when it is over; a watch is logged
// when it is opened too. Neither bodies nor credentials nor queries, which may
// hold them, are ever logged.
// With debug set, responses tell where they come from.
func withRecord(log *zap.Logger, m *Metrics, debug bool) func(http.Handler) http.Handler {
	log = log.Named("access")
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			info := request.From(r.Context())
			rec := &recorder{ResponseWriter: w, onStart: func(code int) {
				if debug {
					w.Header().Set(sourceHeader, sourceOf(&info.Outcome))
				}
				if info.Verb == "watch" && code == http.StatusOK {
					log.Info("watch opened", fields(r, info)...)
				}
			}}
			start := time.Now()
			m.begin(info)
			defer func() {
				took := time.Since(start)
				m.end(info, rec.code, took)
				log.Info("request", append(fields(r, info),
					zap.Int("code", rec.code), zap.Int64("bytes", rec.bytes), zap.Duration("duration", took))...)
			}()
			next.ServeHTTP(rec, r)
		})
	}
}

// sourceHeader tells, when debugging, where an answer comes from and why:
// "cache; fresh", or "upstream; delegated", or "upstream; not a read of a
// resource; transcoded".
const sourceHeader = "Sluice-Source"

func sourceOf(o *request.Outcome) string {
	source := strings.TrimSuffix(o.Source+"; "+o.Reason, "; ")
	if o.Transcoded {
		source += "; transcoded"
	}
	return source
}

// fields are the keys that every line about a request has.
func fields(r *http.Request, info *request.Info) []zap.Field {
	f := []zap.Field{
		zap.String("audit_id", info.AuditID),
		zap.String("verb", info.Verb),
		zap.String("protocol", r.Proto),
		zap.String("remote", r.RemoteAddr),
		zap.String("user_agent", r.UserAgent()),
		zap.String("source", info.Outcome.Source),
	}
	if info.User != "" {
		f = append(f, zap.String("user", info.User))
	}
	if info.Outcome.Reason != "" {
		f = append(f, zap.String("reason", info.Outcome.Reason))
	}
	if info.Outcome.Format != "" {
		f = append(f, zap.String("format", info.Outcome.Format))
	}
	if info.Outcome.Transcoded {
		f = append(f, zap.Bool("transcoded", true))
	}
	if !info.IsResourceRequest {
		return append(f, zap.String("path", info.Path))
	}
	return append(f,
		zap.String("group", info.APIGroup), zap.String("version", info.APIVersion), zap.String("resource", info.Resource),
		zap.String("subresource", info.Subresource), zap.String("namespace", info.Namespace), zap.String("name", info.Name))
}
