package forward

import (
	"io"
	"net/http"

	"sluice/proxy/request"
)

// readInFull makes the body of a list or an object be read in full buffers. kube-apiserver writes a list in
// pieces of 4 KiB, and passing each on as it comes takes several times as long; the client can use none of
// them before the last one, nor the header. ReverseProxy takes a body of unknown length for a stream, and flushes it, by a
// goroutine besides: so the length counts as known. The body of an upgraded connection, which is also written to, is not
// touched.
func readInFull(resp *http.Response, info *request.Info) {
	if isWhole(resp.StatusCode, info) {
		resp.Body, resp.ContentLength = wholeBody{resp.Body}, max(resp.ContentLength, 0)
	}
}

// isWhole reports whether a response with this status code is a list or an object.
func isWhole(code int, info *request.Info) bool {
	read := info.Verb == "list" || info.Verb == "get"
	return code == http.StatusOK && read && info.IsResourceRequest && info.Subresource == ""
}

// wholeBody is a body whose Read returns less than it is asked for only before the end or an error.
type wholeBody struct{ io.ReadCloser }

// Read implements io.Reader.
func (b wholeBody) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = b.ReadCloser.Read(p[n:])
		n += more
	}
	return n, err
}
