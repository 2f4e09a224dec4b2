package forward

import "net/http"

// prompt sends the headers of a response of unknown length at once: the caller
// of a watch or a log learns that it is open before the first byte comes, and
// a stream that ends without one keeps the form of a stream.
type prompt struct{ http.ResponseWriter }

// Unwrap lets http.ResponseController reach what lies under.
func (p prompt) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p prompt) WriteHeader(code int) {
	p.ResponseWriter.WriteHeader(code)
	if code == http.StatusOK && p.Header().Get("Content-Length") == "" {
		// A failure shows on the first write.
		_ = http.NewResponseController(p.ResponseWriter).Flush()
	}
}
