package transcode

import (
	"bytes"
	"net/http"
	"slices"

	"sluice/codec"
	"sluice/proxy/request"
)

// attempt is a form in which a request is sent: the set of its parts that are JSON in place of the
// client's format.
type attempt uint8

const (
	// jsonResponse asks for the response in JSON.
	jsonResponse attempt = 1 << iota
	// jsonBody sends the request body in JSON.
	jsonBody

	// asReceived changes nothing.
	asReceived attempt = 0
)

func (a attempt) has(part attempt) bool { return a&part == part }

// planAttempts lists the attempts in the order in which they are made. Each has in JSON what the
// first has; retry moves on to the next one that has the refused part in JSON as well.
func (e *exchange) planAttempts() error {
	first, err := e.firstAttempt()
	if err != nil {
		return err
	}
	var possible attempt
	if e.target != nil && e.isRepeatable() {
		possible |= jsonResponse
	}
	if e.body.jsonType != "" {
		possible |= jsonBody
	}
	optional := []attempt{jsonResponse, jsonBody, jsonResponse | jsonBody}
	if possible.has(jsonResponse|jsonBody) && e.target.onlyCBOR && e.body.isCBOR() {
		// A server that cannot encode CBOR responses cannot decode CBOR request bodies either.
		optional = optional[2:]
	}
	e.attempts = []attempt{first}
	for _, a := range optional {
		if a |= first; (possible | first).has(a) && !slices.Contains(e.attempts, a) {
			e.attempts = append(e.attempts, a)
		}
	}
	return e.reserveResponse()
}

// firstAttempt returns asReceived, or JSON in place of CBOR if the API is known not to support
// CBOR.
//
// A body that cannot be decoded is sent as received: whether the client may send it at all is for
// the upstream to decide, which refuses the format afterwards. For the same reason no body of an
// unauthenticated client is decoded before the upstream has refused the format.
func (e *exchange) firstAttempt() (attempt, error) {
	if _, known := e.unsupported.Get(apiOf(e.info)); !known {
		return asReceived, nil
	}
	first := asReceived
	if e.body.isCBOR() {
		if e.info.Caller == request.Unauthenticated || !e.body.isComplete() {
			return asReceived, nil
		}
		if err := e.decodeBody(); err != nil {
			return asReceived, e.request.Context().Err()
		}
		first |= jsonBody
	}
	if e.target != nil && e.target.onlyCBOR {
		first |= jsonResponse
	}
	return first, nil
}

// retry reports whether the upstream refused a part of the current attempt which a later one has in
// JSON, and makes that the current one. The error is an APIStatus if there is such an attempt,
// but it cannot be made. The apiserver refuses a format before the request has any effect (wire.md
// 0), so that a write can be repeated.
func (e *exchange) retry(resp *http.Response) (bool, error) {
	byServer := isFormatCode(resp.StatusCode) && !isWebhookDenial(resp)
	if !byServer && e.request.Method != http.MethodGet {
		return false, nil
	}
	remaining := e.remaining(resp.StatusCode)
	switch {
	case len(remaining) == 0:
		return false, nil
	case e.body.tooLong:
		return false, tooLarge()
	case !e.body.isComplete():
		e.cborRefused = false
		return false, nil
	}
	if resp.StatusCode == http.StatusNotAcceptable {
		e.cborRefused = byServer && e.target.onlyCBOR && e.target.format.Shape == codec.Object
	} else {
		e.cborRefused = e.body.isCBOR()
	}
	e.attempts = remaining
	if e.attempts[0].has(jsonBody) {
		if err := e.decodeBody(); err != nil {
			return false, err
		}
	}
	return true, e.reserveResponse()
}

// remaining returns the attempts from the first one on that has the refused part in JSON, in
// addition to all that the current one has in JSON.
func (e *exchange) remaining(code int) []attempt {
	current := e.attempts[0]
	var refused attempt
	switch code {
	case http.StatusNotAcceptable:
		refused = jsonResponse
	case http.StatusUnsupportedMediaType:
		refused = jsonBody
	}
	if current.has(refused) {
		return nil
	}
	for i, a := range e.attempts {
		if a.has(current | refused) {
			return e.attempts[i:]
		}
	}
	return nil
}

// isRepeatable reports whether every 406 precedes all effects of the request. The apiserver gives
// some when it transcodes the result of a write to a Table or to metadata (wire.md 1.4).
func (e *exchange) isRepeatable() bool {
	return e.target.format.Shape == codec.Object || e.request.Method == http.MethodGet
}

// reserveResponse reserves memory for the response to a write before the write takes effect.
func (e *exchange) reserveResponse() error {
	if !e.attempts[0].has(jsonResponse) || e.request.Method == http.MethodGet {
		return nil
	}
	e.responseReserve = writeReserve + writeReserveFactor*int64(len(e.body.buffered))
	return e.memory.reserve(e.body.size() + e.responseReserve)
}

// isFormatCode reports whether the status code can be the refusal of a format.
func isFormatCode(code int) bool {
	return code == http.StatusNotAcceptable || code == http.StatusUnsupportedMediaType
}

// isWebhookDenial reports whether an admission webhook denied the request. A webhook may choose any
// code; the apiserver's message names it in any case.
func isWebhookDenial(resp *http.Response) bool {
	body, _ := peek(resp, maxRefusal)
	return bytes.Contains(body, []byte("admission webhook"))
}
