package connect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	body := f.body()
	return &http.Response{
		StatusCode: int(f.Code), Status: fmt.Sprintf("%d %s: %s", f.Code, http.StatusText(int(f.Code)), f.Message),
		ProtoMajor: 1, ProtoMinor: 1, Header: f.header(),
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
}

func (f refusal) header() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-cache, private"}, "Connection": {"close"}}
	if f.Code == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	return h
}

func (f refusal) body() []byte {
	body, err := json.Marshal(f.Status)
	if err != nil {
		panic(err) // a Status of strings and a number
	}
	return append(body, '\n')
}

// serve writes the response to a request that is no CONNECT.
func (f refusal) serve(w http.ResponseWriter) {
	maps.Copy(w.Header(), f.header())
	w.WriteHeader(int(f.Code))
	_, _ = w.Write(f.body()) // an error means that the client is gone
}
