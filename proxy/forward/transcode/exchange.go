package transcode

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/codec"
	"sluice/proxy/limits"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// maxRefusal bounds how much of a refusal is read, in bytes: to recognize its origin, and so that
// its connection can be used again.
const maxRefusal = 16 << 10

// Exchange is one request of a client and its response. It belongs to the goroutine of the request. A nil Exchange sends
// the request once, as received.
type Exchange struct {
	request *http.Request // as received, without hop-by-hop headers
	info    *request.Info
	target  *target
	memory  *limits.Hold
	asked   bool // for JSON in place of the client's format
}

// Begin returns the Exchange of a request, nil if its response needs no transcoding. The caller must call End once the
// response has been written: until then the response may take memory of the account.
func Begin(r *http.Request) *Exchange {
	info := request.From(r.Context())
	if !eligible(r, info) {
		return nil
	}
	t := targetOf(r, info)
	if t == nil {
		return nil
	}
	e := &Exchange{info: info, target: t}
	e.memory, _ = info.Account.Take(0)
	return e
}

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

// End gives back the memory.
func (e *Exchange) End() {
	if e != nil {
		e.memory.Release()
	}
}

// Send sends a request once, as http.RoundTripper does.
type Send func(*http.Request) (*http.Response, error)

// RoundTrip sends the request, and again for a response in JSON if the upstream refuses the format of the client. It
// returns the response in a format that the client accepts. The error is ErrResponseCut, an APIStatus to respond with, or
// one of send.
func (e *Exchange) RoundTrip(r *http.Request, send Send) (*http.Response, error) {
	if e == nil {
		return send(r)
	}
	e.request = r
	resp, err := send(r)
	if err == nil && e.isRepeatable() && e.isRefused(resp) {
		_, _ = io.CopyN(io.Discard, resp.Body, maxRefusal)
		resp.Body.Close()
		if err = e.reserveResponse(); err == nil {
			resp, err = send(e.askForJSON())
		}
	}
	if err != nil {
		return nil, err
	}
	return e.finish(resp)
}

// isRepeatable reports whether the request can be sent again, and every 406 precedes all effects of it. The apiserver
// gives some when it transcodes the result of a write to a Table or to metadata (wire.md 1.4).
func (e *Exchange) isRepeatable() bool {
	return (e.request.Body == nil || e.request.GetBody != nil) &&
		(e.target.format.Shape == codec.Object || e.request.Method == http.MethodGet)
}

// isRefused reports whether the upstream refused the format of the response. An admission webhook that denies a write may
// choose any code; the apiserver's message names it in any case.
func (e *Exchange) isRefused(resp *http.Response) bool {
	if resp.StatusCode != http.StatusNotAcceptable || e.request.Method == http.MethodGet {
		return resp.StatusCode == http.StatusNotAcceptable
	}
	body, _ := response.Peek(resp, maxRefusal)
	return !bytes.Contains(body, []byte("admission webhook"))
}

// reserveResponse reserves memory for the response to a write before the write takes effect.
func (e *Exchange) reserveResponse() error {
	if e.request.Method == http.MethodGet {
		return nil
	}
	return e.memory.Reserve(writeReserve + writeReserveFactor*e.request.ContentLength)
}

// askForJSON returns the request for a response in JSON.
func (e *Exchange) askForJSON() *http.Request {
	e.asked = true
	out := e.request.WithContext(e.request.Context())
	if out.GetBody != nil {
		out.Body, _ = out.GetBody()
	}
	out.Header = out.Header.Clone()
	out.Header.Set("Accept", e.target.jsonAccept(e.info))
	out.Header.Del("Accept-Encoding")
	return out
}

// finish returns the response for the client.
func (e *Exchange) finish(resp *http.Response) (*http.Response, error) {
	if bodiless(resp.StatusCode) || !isJSON(resp) {
		e.memory.Release()
		return resp, nil
	}
	out, err := e.transcode(resp)
	if err != nil {
		resp.Body.Close()
		var status apierrors.APIStatus
		if errors.As(err, &status) && e.request.Method != http.MethodGet && resp.StatusCode < http.StatusBadRequest {
			// With a 429 the client would repeat a write that has taken effect.
			return nil, response.NewServerError(message.CarriedOut.Say(strings.TrimPrefix(err.Error(), message.Prefix)))
		}
		return nil, err
	}
	if out == resp {
		e.memory.Shrink(maxError) // of which transcode may have peeked
	}
	return out, nil
}
