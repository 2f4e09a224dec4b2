package transcode

import (
	"net/http"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/negotiate"
	"sluice/proxy/response"
)

// maxError is the longest error response that is transcoded, in bytes; errorReserve is the memory
// for one.
const (
	maxError     = 1 << 20
	errorReserve = 4 * maxError
)

// transcodeError transcodes an error response to the format in which the apiserver sends errors to
// the client. One that cannot be transcoded passes as it is: its content matters more than its
// format.
func (e *Exchange) transcodeError(resp *http.Response) *http.Response {
	if resp.Header.Get("Content-Encoding") != "" || e.memory.Reserve(errorReserve) != nil {
		return resp
	}
	body, err := response.Peek(resp, maxError+1)
	if err != nil || len(body) > maxError || json.Valid(body, maxDepth) != nil {
		return resp
	}
	format := negotiate.ErrorFormat(e.target.client, hasCBOR(resp.StatusCode))
	if maxSize(body, format, 0) > errorReserve-maxError {
		return resp
	}
	out, err := appendStatus(nil, body, format)
	if err != nil {
		return resp
	}
	resp.Body.Close()
	return e.replaceBody(resp, out, format)
}

// hasCBOR reports whether every apiserver that supports CBOR sends errors of that code in it. Up to Kubernetes 1.36
// those that its filters write are without (wire.md 1.3).
func hasCBOR(code int) bool { return code != http.StatusUnauthorized && code != http.StatusForbidden }

// appendStatus appends an error, given in JSON, in another format.
func appendStatus(dst, src []byte, f codec.Format) ([]byte, error) {
	if f.Encoding == codec.JSON && f.Pretty {
		return json.AppendIndent(dst, src, 0)
	}
	return codec.AppendFromJSON(dst, src, f.Encoding)
}
