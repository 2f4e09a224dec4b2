package forward

import (
	"net/http"
	"strings"
	"time"

	"sluice/proxy/request"
)

// joinFor is how long the pieces of a list or an object are joined before they are flushed, and how long its header waits for
// the first of them. It is short for a client that reads a stream of an extension apiserver in place of a list, and few lists
// need that long.
const joinFor = 10 * time.Millisecond

// joinPieces makes the pieces of a list or an object be joined. kube-apiserver writes a list in pieces of 4 KiB, and passing
// each on as it comes takes several times as long. ReverseProxy takes a body of unknown length for a stream, and flushes each
// piece: so the length counts as known, and it flushes each joinFor.
func joinPieces(resp *http.Response, info *request.Info) {
	if isWhole(resp.StatusCode, resp.Header, info) {
		resp.ContentLength = max(resp.ContentLength, 0)
	}
}

// isWhole reports whether a response with this status code and header is a list or an object.
func isWhole(code int, h http.Header, info *request.Info) bool {
	read := info.Verb == "list" || info.Verb == "get"
	return code == http.StatusOK && read && info.IsResourceRequest && info.Subresource == "" &&
		!strings.HasPrefix(h.Get("Content-Type"), "text/event-stream")
}
