package transcode

import (
	"context"
	"net/http"

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

// BodyLimit returns how long a body of the request may be that should be read before the request is sent, since it may
// have to be sent more than once; 0 if it has not.
func (t *Transcoder) BodyLimit(r *http.Request) int64 {
	if t.mayTranscode(r, request.From(r.Context())) {
		return maxRequest
	}
	return 0
}

// Begin returns the request to pass to RoundTrip, of whose body so much has been read. The caller must call release once
// the response has been written: until then the response may take memory of the account.
func (t *Transcoder) Begin(r *http.Request, body Body) (out *http.Request, release func()) {
	info := request.From(r.Context())
	if !t.mayTranscode(r, info) {
		return r, func() {}
	}
	e := &exchange{Transcoder: t, info: info, body: newRequestBody(r, body)}
	e.memory.grant, _ = info.Account.Take(info.Memory(), 0)
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e)), e.memory.release
}

// RoundTrip sends a request of Begin by send, more than once if necessary, and returns the response
// in a format that the client accepts. The error is ErrResponseCut, an APIStatus to respond with, or one of send.
func (t *Transcoder) RoundTrip(r *http.Request, send Send) (*http.Response, error) {
	e, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok || !t.mayTranscode(r, e.info) { // hop-by-hop headers are gone since Begin
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
func (t *Transcoder) mayTranscode(r *http.Request, info *request.Info) bool {
	if t == nil || !eligible(r, info) {
		return false
	}
	_, jsonType := bodyFormat(r)
	return jsonType != "" || targetOf(r, info) != nil
}
