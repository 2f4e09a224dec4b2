package transcode

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// errSwitched is returned when the upstream switches protocols though the request was no upgrade.
var errSwitched = errors.New("upstream switched protocols without a request to")

// maxRefusal bounds how much of a refusal is read, in bytes: to recognize its origin, and so that
// its connection can be used again.
const maxRefusal = 16 << 10

// Exchange is one request of a client with the attempts to send it and the response. It belongs to
// the goroutine of the request. A nil Exchange sends the request once, as received.
type Exchange struct {
	*Transcoder
	send    Send
	request *http.Request // as received, without hop-by-hop headers
	info    *request.Info
	target  *target // nil if the response needs no transcoding
	body    requestBody
	memory  reservation

	attempt         attempt // the present one
	responseReserve int64   // bytes of memory, for the response to a write
}

// End gives back the memory.
func (e *Exchange) End() {
	if e != nil {
		e.memory.release()
	}
}

// RoundTrip sends the request, of whose body so much has been read, more than once if necessary. It returns the response
// in a format that the client accepts. The error is ErrResponseCut, an APIStatus to respond with, or one of send.
func (e *Exchange) RoundTrip(r *http.Request, body Body, send Send) (*http.Response, error) {
	if e == nil {
		return send(r)
	}
	e.request, e.send, e.body.Body = r, send, body
	if body.Complete && len(body.Bytes) == 0 && r.Method == http.MethodDelete {
		e.body.jsonType = ""
	}
	resp, err := e.sendAttempts()
	if err == nil && e.attempt.has(jsonBody) {
		e.info.Outcome.Transcoded = true
	}
	return resp, err
}

// sendAttempts sends the request until the upstream refuses no format of it.
func (e *Exchange) sendAttempts() (*http.Response, error) {
	for {
		resp, err := e.send(e.attemptRequest())
		if err != nil {
			return nil, err
		}
		again, err := e.retry(resp)
		if !again && err == nil {
			return e.finish(resp)
		}
		_, _ = io.CopyN(io.Discard, resp.Body, maxRefusal)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
	}
}

// decodeBody transcodes the request body to JSON, as one of at most maxDecoding at a time.
func (e *Exchange) decodeBody() error {
	leave, err := e.decoding.Enter(e.request.Context(), e.info.Account.Key)
	if err != nil {
		return err
	}
	defer leave()
	return e.body.decode(e.info, &e.memory)
}

// attemptRequest returns the request for the current attempt.
func (e *Exchange) attemptRequest() *http.Request {
	out := e.request.WithContext(e.request.Context())
	if out.Body != nil && out.GetBody != nil {
		out.Body, _ = out.GetBody()
	}
	if e.attempt != asReceived {
		out.Header = out.Header.Clone()
	}
	if e.attempt.has(jsonResponse) {
		out.Header.Set("Accept", e.target.jsonAccept(e.info))
		out.Header.Del("Accept-Encoding")
	}
	if e.attempt.has(jsonBody) {
		out.Header.Set("Content-Type", e.body.jsonType)
		out.Header.Del("Content-Length")
		json := e.body.json
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(json)), nil }
		out.Body, _ = out.GetBody()
		out.ContentLength = int64(len(json))
		out.TransferEncoding = nil
	}
	return out
}

// finish returns the response for the client.
func (e *Exchange) finish(resp *http.Response) (*http.Response, error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		return nil, errSwitched
	}
	e.body.json = nil
	e.memory.shrink(e.responseReserve)
	if len(e.body.warnings) > 0 && !isFormatCode(resp.StatusCode) {
		resp.Header["Warning"] = append(slices.Clone(e.body.warnings), resp.Header["Warning"]...)
	}
	if e.target == nil || bodiless(resp.StatusCode) || !isJSON(resp) {
		e.memory.release()
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
		e.memory.shrink(maxError) // of which transcode may have peeked
	}
	return out, nil
}
