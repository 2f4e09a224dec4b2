package connect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
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

// refusal is an error response of the proxy.
type refusal struct {
	decision string
	code     int
	reason   metav1.StatusReason
	text     string
}

// check returns the refusal of a request; nil for a CONNECT to the API. The request target alone names the destination of a
// CONNECT (RFC 9112, section 3.2.3). A request for an absolute URL is that of a client which asks a proxy for a http URL.
func (p *Proxy) check(r *http.Request) *refusal {
	onlyAPI := fmt.Sprintf("this proxy leads only to the Kubernetes API, at %v", p.options.Hosts[0])
	d, err := config.ParseDestination(r.RequestURI)
	switch {
	case r.Method != http.MethodConnect && r.URL.IsAbs():
		return &refusal{decisionNotConnect, http.StatusForbidden, metav1.StatusReasonForbidden, message.ProxyNotPlain.Say(onlyAPI)}
	case r.Method != http.MethodConnect:
		return &refusal{decisionNotConnect, http.StatusMisdirectedRequest, metav1.StatusReasonInvalid, message.ProxyAddress.Say(onlyAPI)}
	case err != nil || r.ContentLength != 0:
		return &refusal{decisionInvalid, http.StatusBadRequest, metav1.StatusReasonBadRequest, message.ProxyInvalid.Say()}
	case !slices.Contains(p.options.Hosts, d):
		return &refusal{decisionNotAllowed, http.StatusForbidden, metav1.StatusReasonForbidden, message.ProxyOnlyAPI.Say(onlyAPI)}
	case p.api.Context().Err() != nil:
		return &refusal{decisionShuttingDown, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, message.ProxyEnding.Say()}
	}
	return nil
}

// refused counts and logs a refusal.
func (p *Proxy) refused(r *http.Request, decision string) {
	p.options.Metrics.connections.WithLabelValues(decision).Inc()
	if line := p.refusals.Check(zap.InfoLevel, "proxy connection refused"); line != nil {
		line.Write(zap.String("decision", decision), zap.String("remote", r.RemoteAddr),
			zap.String("method", request.Shorten(r.Method)), zap.String("target", request.Shorten(r.RequestURI)))
	}
}

// write writes the response and closes the connection. The message is also the reason phrase of the response to a CONNECT: that
// is all that net/http, and so kubectl, shows of it. Errors mean that the client is gone.
func (f *refusal) write(w http.ResponseWriter, r *http.Request) {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(f.code), Reason: f.reason, Message: f.text,
	})
	if err != nil {
		panic(err) // a Status of strings and a number
	}
	h := http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-cache, private"}, "Connection": {"close"}}
	if f.code == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	if r.Method != http.MethodConnect {
		maps.Copy(w.Header(), h)
		w.WriteHeader(f.code)
		_, _ = w.Write(append(body, '\n'))
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // not reached: the server speaks HTTP/1.1
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(replyTimeout))
	_ = (&http.Response{
		StatusCode: f.code, Status: fmt.Sprintf("%d %s: %s", f.code, http.StatusText(f.code), f.text),
		ProtoMajor: 1, ProtoMinor: 1, Header: h, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}).Write(conn)
}
