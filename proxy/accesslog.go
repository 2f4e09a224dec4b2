package proxy

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sluice/proxy/clients"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/why"
)

// accessLog logs and counts requests.
type accessLog struct {
	log     *zap.Logger
	refused *zap.Logger
	metrics *Metrics
	options *accessOptions
	kept    *why.Ring
}

// accessOptions may change while Sluice runs.
type accessOptions struct {
	debugHeaders atomic.Bool
	all          atomic.Bool // requests have lines of level info, else only those that are refused, fail or are slow
}

// withAccessLog logs, counts and keeps each request when it ends, and logs a watch also when it starts. Of many
// refused requests it logs some. It never logs bodies, credentials or queries,
// which may contain credentials. While debugHeaders is set it adds request.SourceHeader and request.AsOfHeader to responses.
func withAccessLog(log *zap.Logger, m *Metrics, o *accessOptions, kept *why.Ring) func(http.Handler) http.Handler {
	log = log.Named("access")
	a := &accessLog{log, limits.Sampled(log), m, o, kept}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			l := a.begin(w, r)
			defer l.end()
			next.ServeHTTP(l.Recorder, r)
		})
	}
}

// loggedRequest is a request that is logged when it ends.
type loggedRequest struct {
	*response.Recorder
	*accessLog
	r     *http.Request
	info  *request.Info
	costs costs
}

func (a *accessLog) begin(w http.ResponseWriter, r *http.Request) *loggedRequest {
	l := &loggedRequest{Recorder: response.NewRecorder(w, r), accessLog: a, r: r, info: request.From(r.Context())}
	l.info.Received = time.Now()
	l.OnHeader(l.header)
	a.metrics.begin(l.info)
	return l
}

// header is called before the response header is written.
func (l *loggedRequest) header(code int) {
	if l.options.debugHeaders.Load() || l.r.Header.Get(request.SourceHeader) == request.Asked && mayKnowSource(l.info, code) {
		l.Header().Set(request.SourceHeader, sourceOf(&l.info.Outcome))
	}
	if o := &l.info.Outcome; o.AsOf.Version > 0 && (l.options.debugHeaders.Load() || l.r.Header.Get(request.AsOfHeader) == request.Asked) {
		l.Header().Set(request.AsOfHeader, o.AsOf.Header(time.Now()))
	}
	l.metrics.respond(l.info, code)
	l.costs.begun(l, code)
	if l.opens(code) {
		endSpan(l.r, l.info, code)
		l.keep(code)
		writeLine(l.log.Check(l.level(false), "watch opened"), func() []zap.Field { return fields(l.r, l.info) })
	}
}

// mayKnowSource reports whether the caller may know how the request was answered: it tells nothing of resources that the caller
// may not read, and nothing to callers without a name.
func mayKnowSource(info *request.Info, code int) bool {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return info.Outcome.Source == request.SourceCache
	}
	return info.Caller != request.Unauthenticated
}

// opens reports whether a response with this status code starts a watch.
func (l *loggedRequest) opens(code int) bool { return l.info.Verb == "watch" && code == http.StatusOK }

// keep adds the request to the last ones, for the page and sluice why.
func (l *loggedRequest) keep(code int) {
	info := l.info
	q := why.Request{
		Code: code, Source: clients.Sources[clientSource(info)], Reason: info.Outcome.Reason, End: string(info.Outcome.End), Exists: exists(l.r, info, code), Known: info.Caller != request.Unauthenticated,
		Verb: verbOf(l.r, info), User: info.User, Agent: l.r.UserAgent(),
		Resource: info.Resource, Version: info.APIVersion, Group: info.APIGroup,
	}
	l.kept.Add(outcomeOf(info, code), &q)
}

func (l *loggedRequest) end() {
	duration := time.Since(l.info.Received)
	l.keep(l.Code)
	l.metrics.end(l.r, l.info, l.Code, duration)
	l.costs.add(l, true)
	l.costs.watch.Close()
	endSpan(l.r, l.info, l.Code)
	writeLine(l.line(duration), func() []zap.Field {
		f := append(fields(l.r, l.info), zap.Int("code", l.Code), zap.Int64("bytes", l.Bytes), zap.Duration("duration", duration))
		if l.opens(l.Code) && l.info.Outcome.End != "" {
			f = append(f, zap.String("end", string(l.info.Outcome.End)))
		}
		return f
	})
}

// line returns the line of a finished request; nil if it has none.
func (l *loggedRequest) line(took time.Duration) *zapcore.CheckedEntry {
	if isRefusal(l.info, l.Code) {
		return l.refused.Check(zap.InfoLevel, "request")
	}
	answered := l.Code < http.StatusBadRequest || l.Code == http.StatusNotFound || l.Code == http.StatusConflict
	slow := took >= slowAfter && kindOf(l.info) != "longRunning"
	return l.log.Check(l.level(slow || !answered || outcomeOf(l.info, l.Code) == clients.Failed), "request")
}

// slowAfter is from when on a request is slow: the objective of the apiserver for most of its requests.
const slowAfter = time.Second

// level returns the level of a line.
func (l *loggedRequest) level(notable bool) zapcore.Level {
	if notable || l.options.all.Load() {
		return zap.InfoLevel
	}
	return zap.DebugLevel
}

// writeLine writes a line whose fields are not made, for every request, if it is not logged.
func writeLine(line *zapcore.CheckedEntry, fields func() []zap.Field) {
	if line != nil {
		line.Write(fields()...)
	}
}

// sourceOf returns the value of request.SourceHeader.
func sourceOf(o *request.Outcome) string {
	source := strings.TrimSuffix(o.Source+"; "+o.Reason, "; ")
	if o.Transcoded {
		source += "; transcoded"
	}
	return source
}

// impersonated returns the name of the user that the caller acts for, or asks to act for: the apiserver
// decides that for requests that pass.
func impersonated(r *http.Request, info *request.Info) string {
	if info.Impersonated != nil {
		return info.Impersonated.GetName()
	}
	return r.Header.Get("Impersonate-User")
}

// fields returns the fields that every log line about a request has.
func fields(r *http.Request, info *request.Info) []zap.Field {
	f := []zap.Field{
		zap.String("audit_id", request.Shorten(info.AuditID)),
		zap.String("verb", request.Shorten(info.Verb)),
		zap.String("protocol", r.Proto),
		zap.String("remote", r.RemoteAddr),
		zap.String("user_agent", request.Shorten(r.UserAgent())),
		zap.String("source", info.Outcome.Source),
	}
	if info.User != "" {
		f = append(f, zap.String("user", request.Shorten(info.User)))
		if as := impersonated(r, info); as != "" {
			f = append(f, zap.String("impersonated_user", request.Shorten(as)))
		}
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
		return append(f, zap.String("path", request.Shorten(info.Path)))
	}
	return append(f,
		zap.String("group", request.Shorten(info.APIGroup)), zap.String("version", request.Shorten(info.APIVersion)),
		zap.String("resource", request.Shorten(info.Resource)), zap.String("subresource", request.Shorten(info.Subresource)),
		zap.String("namespace", request.Shorten(info.Namespace)), zap.String("name", request.Shorten(info.Name)))
}
