package limits

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
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
		reason := reasonOf(err)
		if m != nil {
			m.errors.WithLabelValues(listener, reason).Inc()
		}
		failures.Info("TLS handshake failed", zap.Stringer("remote", c.RemoteAddr()), zap.String("reason", reason), zap.Error(err))
	}
}

// reasonOf returns why a handshake has failed, as it stands in the metric and the log.
func reasonOf(err error) string {
	alert, isOp := errors.AsType[*net.OpError](err)
	_, isHeader := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case isHeader:
		return "not-tls"
	case isOp && alert.Op == "remote error": // the client does not accept the certificate, or something else
		return "rejected"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "closed"
	}
	return "mismatched" // or the client breaks the protocol
}
