package transcode

import (
	"net/http"

	"sluice/proxy/queue"
	"sluice/proxy/request"
)

// maxDecoding bounds the request bodies that are decoded at a time: decoding takes many times the
// memory of the body.
const maxDecoding = 2

// Transcoder transcodes passed requests and holds what they share. It is safe for concurrent use. A
// nil Transcoder transcodes nothing.
type Transcoder struct {
	decoding *queue.Queue
}

// New returns a Transcoder.
func New() *Transcoder {
	return &Transcoder{decoding: queue.New(maxDecoding)}
}

// Begin returns the Exchange of a request, nil if nothing of it may need transcoding. The caller must call End once the
// response has been written: until then the response may take memory of the account.
func (t *Transcoder) Begin(r *http.Request) *Exchange {
	info := request.From(r.Context())
	if t == nil || !eligible(r, info) {
		return nil
	}
	e := &Exchange{Transcoder: t, info: info, target: targetOf(r, info)}
	if e.body.encoding, e.body.jsonType = bodyFormat(r); e.target == nil && e.body.jsonType == "" {
		return nil
	}
	e.memory.grant, _ = info.Account.Take(info.Memory(), 0)
	return e
}

// Send sends a request once, as http.RoundTripper does.
type Send func(*http.Request) (*http.Response, error)

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
