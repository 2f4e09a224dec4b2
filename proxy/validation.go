package proxy

import (
	"net/http"
	"strings"

	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/upstream"
)

// reasonAmbiguous is the Outcome.Reason of a request that another server could understand differently.
const reasonAmbiguous = "ambiguous-request"

// withValidation rejects requests that another server could understand differently. The bytes behind such a
// request on an HTTP/1.1 connection may not be a request of the same client, so the connection ends.
func withValidation(u *upstream.Upstream) func(http.Handler) http.Handler {
	return admits(func(w http.ResponseWriter, r *http.Request) bool {
		info := request.From(r.Context())
		err := request.Validate(r, &info.Parsed, u.IsUserHeader)
		if r.ProtoMajor == 1 && (err != nil || mayBeMisframed(r)) {
			w.Header().Set("Connection", "close")
		}
		if err != nil {
			info.Outcome.Source, info.Outcome.Reason = request.SourceGateway, reasonAmbiguous
			response.Error(w, r, err)
		}
		return err == nil
	})
}

// mayBeMisframed reports whether a proxy in front of Sluice may see another end of the request: net/http
// accepts a Content-Length besides Transfer-Encoding and in HTTP/1.0 both, and hides which it ignored.
// RFC 9112, section 6.1, requires the connection to end after such a request.
func mayBeMisframed(r *http.Request) bool {
	return !strings.EqualFold(r.Proto, "HTTP/1.1") || len(r.TransferEncoding) > 0
}
