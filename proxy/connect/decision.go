package connect

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/elazarl/goproxy"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/config"
	"sluice/proxy/message"
	"sluice/proxy/request"
)

// What is decided about a connection, as it stands in the metric and the log.
const (
	decisionIntercepted     = "intercepted"
	decisionTunneled        = "tunneled"
	decisionNotAllowed      = "not-allowed"     // the destination is on no list
	decisionInvalid         = "invalid"         // the destination is not host:port
	decisionNotConnect      = "not-connect"     // a request that is not a CONNECT
	decisionUnauthenticated = "unauthenticated" // no user of the proxy
	decisionBusy            = "busy"            // too many unknown passwords to verify
	decisionUnreachable     = "unreachable"     // a tunnel could not be opened
	decisionShuttingDown    = "shutting-down"   // the API listener is closed
)

// connect decides about a CONNECT. It looks only at the request target, which alone names the
// destination (RFC 9112, section 3.2.3).
func (p *Proxy) connect(_ string, c *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	r := c.Req
	if p.options.Users != nil {
		switch err := p.options.Users.verify(r); {
		case errors.Is(err, errBusy):
			return p.reject(c, decisionBusy, newRefusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
				message.ProxyBusy.Say())), ""
		case err != nil:
			return p.reject(c, decisionUnauthenticated, newRefusal(http.StatusProxyAuthRequired, metav1.StatusReasonUnauthorized,
				message.ProxyPassword.Say())), ""
		}
	}
	d, err := config.ParseDestination(r.RequestURI)
	if err != nil || r.ContentLength != 0 {
		return p.reject(c, decisionInvalid, newRefusal(http.StatusBadRequest, metav1.StatusReasonBadRequest,
			message.ProxyInvalid.Say())), ""
	}
	switch {
	case p.hosts[d]:
		return &goproxy.ConnectAction{Action: goproxy.ConnectHijack, Hijack: p.intercept}, ""
	case (*p.allowed.Load())[d]:
		return &goproxy.ConnectAction{Action: goproxy.ConnectHijack, Hijack: p.tunnel(d)}, ""
	}
	return p.reject(c, decisionNotAllowed, newRefusal(http.StatusForbidden, metav1.StatusReasonForbidden,
		message.ProxyOnlyAPI.Say(p.onlyAPI(true)))), ""
}

// onlyAPI says where the proxy leads, and by what name if the client may use the proxy. It names no
// destination of a tunnel: who may use one knows it.
func (p *Proxy) onlyAPI(named bool) string {
	if !named {
		return "this proxy leads only to the Kubernetes API"
	}
	return fmt.Sprintf("this proxy leads only to the Kubernetes API, at %v", p.options.Hosts[0])
}

// reject makes goproxy write a refusal and close the connection.
func (p *Proxy) reject(c *goproxy.ProxyCtx, decision string, refusal refusal) *goproxy.ConnectAction {
	p.refused(c.Req, decision)
	c.Resp = refusal.response()
	return &goproxy.ConnectAction{Action: goproxy.ConnectReject}
}

// refused counts and logs a refusal.
func (p *Proxy) refused(r *http.Request, decision string) {
	p.options.Metrics.connections.WithLabelValues(decision).Inc()
	if line := p.refusals.Check("proxy connection refused", decision); line != nil {
		line.Write(zap.String("decision", decision), zap.String("remote", r.RemoteAddr),
			zap.String("method", request.Shorten(r.Method)), zap.String("target", request.Shorten(r.RequestURI)))
	}
}

// replyTimeout is the time for a client to accept the short reply to its CONNECT.
const replyTimeout = 10 * time.Second

// intercept hands a connection to the server of the API.
func (p *Proxy) intercept(r *http.Request, client net.Conn, _ *goproxy.ProxyCtx) {
	if p.api.Context().Err() != nil {
		p.fail(r, client, decisionShuttingDown, newRefusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
			message.ProxyEnding.Say()))
		return
	}
	if !accepted(client) {
		return
	}
	if p.api.Hand(client) {
		p.options.Metrics.connections.WithLabelValues(decisionIntercepted).Inc()
	} else {
		p.refused(r, decisionShuttingDown)
	}
}

// accepted tells the client that it is connected. If that fails it closes the connection and returns false.
func accepted(client net.Conn) bool {
	_ = client.SetWriteDeadline(time.Now().Add(replyTimeout))
	if _, err := client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		_ = client.Close()
		return false
	}
	return client.SetWriteDeadline(time.Time{}) == nil
}

// fail refuses a connection that is already hijacked.
func (p *Proxy) fail(r *http.Request, client net.Conn, decision string, refusal refusal) {
	p.refused(r, decision)
	_ = client.SetWriteDeadline(time.Now().Add(replyTimeout))
	_ = refusal.response().Write(client) // an error means that the client is gone
	_ = client.Close()
}
