package transcode

import (
	"context"
	"net/http"
	"time"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
)

// maxDecoding bounds the request bodies that are decoded at a time: decoding takes many times the
// memory of the body.
const maxDecoding = 2

// Transcoder transcodes passed requests and holds what they share. It is safe for concurrent use. A
// nil Transcoder sends every request once, as received.
type Transcoder struct {
	decoding *flowcontrol.Queue
}

// New returns a Transcoder.
func New() *Transcoder {
	return &Transcoder{decoding: flowcontrol.NewQueue(maxDecoding)}
}

// Begin returns the request to pass to RoundTrip. The caller must call release once the response
// has been written to w: until then the response may take memory of the account.
func (t *Transcoder) Begin(w http.ResponseWriter, r *http.Request) (out *http.Request, release func()) {
	info := request.From(r.Context())
	if t == nil || !eligible(r, info) || !mayTranscode(r, info) {
		return r, func() {}
	}
	e := &exchange{Transcoder: t, info: info}
	e.memory.grant, _ = info.Account.Take(info.Memory(), 0)
	client := http.NewResponseController(w)
	e.setReadTimeout = func(d time.Duration) {
		deadline := time.Time{}
		if d > 0 {
			deadline = time.Now().Add(d)
		}
		_ = client.SetReadDeadline(deadline) // without it, the account alone limits slow clients
	}
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e)), e.memory.release
}

// RoundTrip sends a request of Begin by send, more than once if necessary, and returns the response
// in a format that the client accepts. The error is ErrRequestCut, ErrResponseCut, an APIStatus
// to respond with, or one of send.
func (t *Transcoder) RoundTrip(r *http.Request, send Send) (*http.Response, error) {
	e, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok || !mayTranscode(r, e.info) { // hop-by-hop headers are gone since Begin
		return send(r)
	}
	return e.roundTrip(r, send)
}

// Send sends a request once, as http.RoundTripper does.
type Send func(*http.Request) (*http.Response, error)

// exchangeKey is the context key of the *exchange.
type exchangeKey struct{}

// eligible reports whether the request is about API objects. Proxied requests and streams belong to
// other servers, and no apiserver encodes discovery in CBOR.
func eligible(r *http.Request, info *request.Info) bool {
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return false
	}
	return !info.Upgrade && info.IsResourceRequest && info.Verb != "proxy" && !info.Proxied()
}

// mayTranscode reports whether the request body or the response may need transcoding.
func mayTranscode(r *http.Request, info *request.Info) bool {
	_, jsonType := bodyFormat(r)
	return jsonType != "" || targetOf(r, info) != nil
}
