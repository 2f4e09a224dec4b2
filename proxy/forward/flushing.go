package forward

import "net/http"

// flushing flushes the headers of a response of unknown length at once. The client of a watch or a
// log then learns that the stream is open before the first byte arrives, and a stream that ends
// without one keeps the framing of a stream.
type flushing struct{ http.ResponseWriter }

// Unwrap gives http.ResponseController access to the underlying writer.
func (f flushing) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f flushing) WriteHeader(code int) {
	f.ResponseWriter.WriteHeader(code)
	if code == http.StatusOK && f.Header().Get("Content-Length") == "" {
		// The first write returns the same error.
		_ = http.NewResponseController(f.ResponseWriter).Flush()
	}
}
