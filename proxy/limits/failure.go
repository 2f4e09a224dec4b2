package limits

import (
	"net"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// SampledLines is how many lines with the same message a second has: enough to see the cause, while a flood writes no more.
const SampledLines = 10

// Sampled returns a logger for events that callers can cause as often as they like, such as refused requests. It drops lines
// beyond SampledLines; metrics count all.
func Sampled(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(c, time.Second, SampledLines, 0)
	}))
}

// Failed returns a function that counts and logs the failures of a listener. Nil HandshakeMetrics only log them.
func (m *HandshakeMetrics) Failed(listener string, log *zap.Logger) func(c net.Conn, err error) {
	failures := Sampled(log)
	return func(c net.Conn, err error) {
		if m != nil {
			m.errors.WithLabelValues(listener).Inc()
		}
		failures.Info("TLS handshake failed", zap.Stringer("remote", c.RemoteAddr()), zap.Error(err))
	}
}
