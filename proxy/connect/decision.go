package connect

import (
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

// Decisions about a connection, as it stands in the metric and the log.
const (
	decisionIntercepted  = "intercepted"
	decisionNotAllowed   = "not-allowed"   // the destination is not the apiserver
	decisionInvalid      = "invalid"       // the destination is not host:port
	decisionNotConnect   = "not-connect"   // a request that is not a CONNECT
	decisionShuttingDown = "shutting-down" // the API listener is closed
)

// connect decides about a CONNECT. It looks only at the request target, which alone names the
// destination (RFC 9112, section 3.2.3).
func (p *Proxy) connect(_ string, c *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	r := c.Req
	d, err := config.ParseDestination(r.RequestURI)
	if err != nil || r.ContentLength != 0 {
		return p.reject(c, decisionInvalid, newRefusal(http.StatusBadRequest, metav1.StatusReasonBadRequest,
			message.ProxyInvalid.Say())), ""
	}
	if !p.hosts[d] {
		return p.reject(c, decisionNotAllowed, newRefusal(http.StatusForbidden, metav1.StatusReasonForbidden,
			message.ProxyOnlyAPI.Say(p.onlyAPI()))), ""
	}
	return &goproxy.ConnectAction{Action: goproxy.ConnectHijack, Hijack: p.intercept}, ""
}

// onlyAPI says where the proxy leads.
func (p *Proxy) onlyAPI() string {
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
	if line := p.refusals.Check(zap.InfoLevel, "proxy connection refused"); line != nil {
		line.Write(zap.String("decision", decision), zap.String("remote", r.RemoteAddr),
			zap.String("method", request.Shorten(r.Method)), zap.String("target", request.Shorten(r.RequestURI)))
	}
}

// replyTimeout is the time for a client to accept the short reply to its CONNECT.
const replyTimeout = 10 * time.Second

// intercept hands a connection to the server of the API.
func (p *Proxy) intercept(r *http.Request, client net.Conn, _ *goproxy.ProxyCtx) {
	if p.api.Context().Err() != nil {
		p.refused(r, decisionShuttingDown)
		_ = client.SetWriteDeadline(time.Now().Add(replyTimeout))
		ending := newRefusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, message.ProxyEnding.Say())
		_ = ending.response().Write(client) // an error means that the client is gone
		_ = client.Close()
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
