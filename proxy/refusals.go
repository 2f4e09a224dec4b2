package proxy

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sluice/proxy/request"
)

const (
	// refusalPeriod is the period for which one line counts the refusals without a line of their own.
	refusalPeriod = time.Second
	// refusalLines is how many refusals have a line of their own in a period: enough to see who is
	// refused, while a flood writes no more.
	refusalLines = 10
)

// refusals are the lines of the access log about requests that were refused. Refusals cost a client
// nothing, so a line for each would let it write as much to the log as it likes.
type refusals struct {
	log     *zap.Logger
	sampled *zap.Logger // log without the lines beyond refusalLines

	mu sync.Mutex
	// omitted counts the requests of the period without a line, by code and reason; nil if there are
	// none. Guarded by mu.
	omitted map[string]int
}

func newRefusals(log *zap.Logger) *refusals {
	return &refusals{log: log, sampled: log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, refusalPeriod, refusalLines, 0)
	}))}
}

// isRefusal reports whether a finished request was refused: by Sluice or, if Sluice does not know the
// caller, by the apiserver.
func isRefusal(info *request.Info, code int) bool {
	if info.Outcome.Source == request.SourceGateway {
		return code >= http.StatusBadRequest
	}
	unwanted := code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusTooManyRequests
	return info.Caller == request.Unauthenticated && unwanted
}

// check returns the line of a refusal, or nil if it has none of its own.
func (r *refusals) check(message string, info *request.Info, code int) *zapcore.CheckedEntry {
	line := r.sampled.Check(zap.InfoLevel, message)
	if line == nil && r.log.Core().Enabled(zap.InfoLevel) {
		r.omit(strings.TrimSpace(strconv.Itoa(code) + " " + info.Outcome.Reason))
	}
	return line
}

// omit counts a refusal, the first one of a period for a line at its end.
func (r *refusals) omit(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.omitted == nil {
		r.omitted = map[string]int{}
		time.AfterFunc(refusalPeriod, r.report)
	}
	r.omitted[what]++
}

// report writes the line that counts the refusals of a period.
func (r *refusals) report() {
	r.mu.Lock()
	omitted := r.omitted
	r.omitted = nil
	r.mu.Unlock()
	total := 0
	for n := range maps.Values(omitted) {
		total += n
	}
	r.log.Info("more requests refused", zap.Int("requests", total), zap.Any("reasons", omitted))
}
