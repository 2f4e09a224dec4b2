package connect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/elazarl/goproxy"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/proxy/message"
)

// refusal is an error response of the proxy.
type refusal struct{ metav1.Status }

func newRefusal(code int32, reason metav1.StatusReason, text string) refusal {
	return refusal{metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: text,
	}}
}

// response returns the response, after which the connection is closed. The message is also the reason
// phrase: that is all that net/http, and so kubectl, shows of the response to a CONNECT.
func (f refusal) response() *http.Response {
	body, err := json.Marshal(f.Status)
	if err != nil {
		panic(err) // a Status of strings and a number
	}
	body = append(body, '\n')
	h := http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-cache, private"}, "Connection": {"close"}}
	if f.Code == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	return &http.Response{
		StatusCode: int(f.Code), Status: fmt.Sprintf("%d %s: %s", f.Code, http.StatusText(int(f.Code)), f.Message),
		ProtoMajor: 1, ProtoMinor: 1, Header: h, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
}

// refusePlain refuses a request for an absolute URL, by which clients ask a proxy for http URLs.
func (p *Proxy) refusePlain(r *http.Request, _ *goproxy.ProxyCtx) (*http.Request, *http.Response) {
	p.refused(r, decisionNotConnect)
	return r, newRefusal(http.StatusForbidden, metav1.StatusReasonForbidden,
		message.ProxyNotPlain.Say(p.onlyAPI())).response()
}

// misdirected refuses a request that was meant for a server and not for a proxy.
func (p *Proxy) misdirected(w http.ResponseWriter, r *http.Request) {
	p.refused(r, decisionNotConnect)
	resp := newRefusal(http.StatusMisdirectedRequest, metav1.StatusReasonInvalid, message.ProxyAddress.Say(p.onlyAPI())).response()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // an error means that the client is gone
}
