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

	"sluice/proxy/flood"
)

// Options sets up a Listener.
type Options struct {
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
	net.Listener
	options  Options
	failures *flood.Log
	ctx      context.Context // ends with the listener
	cancel   context.CancelFunc
	accepted chan accepted // unbuffered; never closed
}

// accepted is the result of one Accept.
type accepted struct {
	conn net.Conn
	err  error
}

// Listen returns a listener for the connections of l, each a *tls.Conn. The caller must close it, which closes l and
// the connections that were not accepted.
func Listen(l net.Listener, o Options) net.Listener {
	h := &listener{
		Listener: l, options: o, failures: flood.New(o.Log, "more TLS handshakes failed", "handshakes"), accepted: make(chan accepted),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	go h.run()
	return h
}

// run begins handshakes until the listener is closed.
func (l *listener) run() {
	for {
		conn, err := l.Listener.Accept()
		if err == nil {
			go l.shake(tls.Server(conn, l.options.Config))
			continue
		}
		if !l.hand(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// hand gives a result to Accept. It reports whether the listener is still open.
func (l *listener) hand(a accepted) bool {
	select {
	case l.accepted <- a:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// shake makes the handshake of a connection.
func (l *listener) shake(c *tls.Conn) {
	_ = c.SetDeadline(time.Now().Add(l.options.Timeout))
	if err := c.HandshakeContext(l.ctx); err != nil {
		answerPlaintext(err)
		_ = c.Close()
		l.failed(c, err)
		return
	}
	_ = c.SetDeadline(time.Time{})
	if !l.hand(accepted{conn: c}) {
		_ = c.Close()
	}
}

// failed counts and logs a failure, unless the listener is closed.
func (l *listener) failed(c net.Conn, err error) {
	if l.ctx.Err() != nil {
		return
	}
	reason := reasonOf(err)
	l.options.Metrics.failed(l.options.Name, reason)
	if line := l.failures.Check("TLS handshake failed", reason); line != nil {
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

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.cancel()
	return l.Listener.Close()
}
