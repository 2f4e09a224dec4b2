package transcode

import (
	"bytes"
	"net/http"

	"sluice/codec"
	"sluice/proxy/response"
)

// attempt is a form in which a request is sent: the set of its parts that are JSON in place of the
// client's format.
type attempt uint8

const (
	// jsonResponse asks for the response in JSON.
	jsonResponse attempt = 1 << iota
	// jsonBody sends the request body in JSON.
	jsonBody

	// asReceived changes nothing. It is the first attempt: whether the client may send its body at all is for the
	// upstream to decide, which refuses the format afterwards.
	asReceived attempt = 0
)

func (a attempt) has(part attempt) bool { return a&part == part }

// retry reports whether the upstream refused a part of the present attempt that can be JSON, and makes the next
// attempt one with that part in JSON. The error is an APIStatus if there is such an attempt, but it cannot be made.
// The apiserver refuses a format before the request has any effect (wire.md 0), so that a write can be repeated.
func (e *Exchange) retry(resp *http.Response) (bool, error) {
	next := e.next(resp.StatusCode)
	switch {
	case next == e.attempt, e.request.Method != http.MethodGet && isWebhookDenial(resp):
		return false, nil
	case e.body.TooLong:
		return false, tooLarge()
	case !e.body.Complete:
		return false, nil
	}
	e.attempt = next
	if next.has(jsonBody) {
		if err := e.decodeBody(); err != nil {
			return false, err
		}
	}
	return true, e.reserveResponse()
}

// next returns the attempt that follows the refusal of the present one with a status code, which is the present one if
// none does.
func (e *Exchange) next(code int) attempt {
	var possible, refused attempt
	if e.target != nil && e.isRepeatable() {
		possible |= jsonResponse
	}
	if e.body.jsonType != "" {
		possible |= jsonBody
	}
	switch code {
	case http.StatusNotAcceptable:
		refused = jsonResponse
	case http.StatusUnsupportedMediaType:
		refused = jsonBody
	}
	if refused &= possible; refused != 0 && possible.has(jsonResponse|jsonBody) && e.target.onlyCBOR && e.body.isCBOR() {
		// A server that cannot encode CBOR responses cannot decode CBOR request bodies either.
		refused = possible
	}
	return e.attempt | refused
}

// isRepeatable reports whether every 406 precedes all effects of the request. The apiserver gives
// some when it transcodes the result of a write to a Table or to metadata (wire.md 1.4).
func (e *Exchange) isRepeatable() bool {
	return e.target.format.Shape == codec.Object || e.request.Method == http.MethodGet
}

// reserveResponse reserves memory for the response to a write before the write takes effect.
func (e *Exchange) reserveResponse() error {
	if !e.attempt.has(jsonResponse) || e.request.Method == http.MethodGet {
		return nil
	}
	e.responseReserve = writeReserve + writeReserveFactor*int64(len(e.body.Bytes))
	return e.memory.reserve(int64(cap(e.body.json)) + e.responseReserve)
}

// isFormatCode reports whether the status code can be the refusal of a format.
func isFormatCode(code int) bool {
	return code == http.StatusNotAcceptable || code == http.StatusUnsupportedMediaType
}

// isWebhookDenial reports whether an admission webhook denied the request. A webhook may choose any
// code; the apiserver's message names it in any case.
func isWebhookDenial(resp *http.Response) bool {
	body, _ := response.Peek(resp, maxRefusal)
	return bytes.Contains(body, []byte("admission webhook"))
}
