package handshake

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"go.uber.org/zap"

	"sluice/proxy/accept"
	"sluice/proxy/flood"
)

// Options sets up a Listener.
type Options struct {
	// Config has a GetCertificate, and no certificates besides.
	Config *tls.Config
	// Name is the listener's in metrics.
	Name string
	// Timeout bounds each handshake.
	Timeout time.Duration
	Log     *zap.Logger
	// Metrics counts the failures; nil counts nothing.
	Metrics *Metrics
}

// listener accepts connections whose handshakes are complete.
type listener struct {
	*accept.Listener
	options  Options
	failures *zap.Logger
}

// Listen returns a listener for the connections of l, each a *tls.Conn. The caller must close it, which closes l and
// the connections that were not accepted.
func Listen(l net.Listener, o Options) *accept.Listener {
	o.Config = newTurns().config(o.Config)
	h := &listener{Listener: accept.New(l), options: o, failures: flood.Sampled(o.Log)}
	go h.Run(func(c net.Conn) { go h.shake(&conn{Conn: c}) })
	return h.Listener
}

// shake makes the handshake of a connection.
func (l *listener) shake(below *conn) {
	c := tls.Server(below, l.options.Config)
	ctx, cancel := context.WithTimeout(l.Context(), l.options.Timeout)
	defer cancel()
	err := c.HandshakeContext(ctx)
	below.complete = true
	if below.leave(); err != nil {
		answerPlaintext(err)
		_ = c.Close()
		l.failed(c, err)
		return
	}
	l.Hand(c)
}

// failed counts and logs a failure, unless the listener is closed.
func (l *listener) failed(c net.Conn, err error) {
	if l.Context().Err() != nil {
		return
	}
	reason := reasonOf(err)
	l.options.Metrics.failed(l.options.Name, reason)
	if line := l.failures.Check(zap.InfoLevel, "TLS handshake failed"); line != nil {
		line.Write(zap.Stringer("remote", c.RemoteAddr()), zap.String("reason", reason), zap.Error(err))
	}
}

// answerPlaintext tells a client that speaks HTTP without TLS what is wrong, as net/http does.
func answerPlaintext(err error) {
	const answer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
	begins := []string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO"}
	plain, ok := errors.AsType[tls.RecordHeaderError](err)
	if ok && plain.Conn != nil && slices.Contains(begins, string(plain.RecordHeader[:])) {
		_, _ = io.WriteString(plain.Conn, answer)
	}
}
