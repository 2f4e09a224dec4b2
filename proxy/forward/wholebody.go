package forward

import (
	"io"
	"net/http"

	"sluice/proxy/request"
)

// readInFull makes the body of a list or an object be read in full buffers. kube-apiserver writes a list in
// pieces of 4 KiB, and passing each on as it comes takes several times as long; the client can use none of
// them before the last one. The body of an upgraded connection, which is also written to, is not touched.
func readInFull(resp *http.Response, info *request.Info) {
	read := info.Verb == "list" || info.Verb == "get"
	if resp.StatusCode == http.StatusOK && read && info.IsResourceRequest && info.Subresource == "" {
		resp.Body = wholeBody{resp.Body}
	}
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
