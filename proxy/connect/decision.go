package connect

import (
	"fmt"
	"net/http"
	"time"

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

// ServeHTTP implements http.Handler. It answers every request that arrives at the listener.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	defer p.requests.Done()
	onlyAPI := fmt.Sprintf("this proxy leads only to the Kubernetes API, at %v", p.options.Hosts[0])
	switch {
	case r.Method == http.MethodConnect:
		p.connect(w, r, onlyAPI)
	case r.URL.IsAbs(): // by which clients ask a proxy for http URLs
		p.refused(r, decisionNotConnect)
		newRefusal(http.StatusForbidden, metav1.StatusReasonForbidden, message.ProxyNotPlain.Say(onlyAPI)).serve(w)
	default: // it was meant for a server and not for a proxy
		p.refused(r, decisionNotConnect)
		newRefusal(http.StatusMisdirectedRequest, metav1.StatusReasonInvalid, message.ProxyAddress.Say(onlyAPI)).serve(w)
	}
}

// connect hands the connection of a CONNECT to the server of the API, or refuses it. It looks only at the request target,
// which alone names the destination (RFC 9112, section 3.2.3).
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request, onlyAPI string) {
	client, err := hijack(w)
	if err != nil {
		return
	}
	_ = client.SetWriteDeadline(time.Now().Add(replyTimeout))
	refuse := func(decision string, f refusal) {
		p.refused(r, decision)
		_ = f.response().Write(client) // an error means that the client is gone
		_ = client.Close()
	}
	d, err := config.ParseDestination(r.RequestURI)
	switch {
	case err != nil || r.ContentLength != 0:
		refuse(decisionInvalid, newRefusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, message.ProxyInvalid.Say()))
		return
	case !p.hosts[d]:
		refuse(decisionNotAllowed, newRefusal(http.StatusForbidden, metav1.StatusReasonForbidden, message.ProxyOnlyAPI.Say(onlyAPI)))
		return
	case p.api.Context().Err() != nil:
		refuse(decisionShuttingDown, newRefusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
			message.ProxyEnding.Say()))
		return
	}
	_, err = client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	if err != nil || client.SetWriteDeadline(time.Time{}) != nil {
		_ = client.Close()
		return
	}
	if p.api.Hand(client) {
		p.options.Metrics.connections.WithLabelValues(decisionIntercepted).Inc()
	} else {
		p.refused(r, decisionShuttingDown)
	}
}

// replyTimeout is the time for a client to accept the short reply to its CONNECT.
const replyTimeout = 10 * time.Second

// refused counts and logs a refusal.
func (p *Proxy) refused(r *http.Request, decision string) {
	p.options.Metrics.connections.WithLabelValues(decision).Inc()
	if line := p.refusals.Check(zap.InfoLevel, "proxy connection refused"); line != nil {
		line.Write(zap.String("decision", decision), zap.String("remote", r.RemoteAddr),
			zap.String("method", request.Shorten(r.Method)), zap.String("target", request.Shorten(r.RequestURI)))
	}
}
