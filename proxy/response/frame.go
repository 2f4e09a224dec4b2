package response

import "net/http"

// FramePayload is the most bytes of a body whose DATA frame, with its header of 9 bytes (RFC 9113, section 4.1),
// fits into one TLS record of 16 KiB (RFC 8446, section 5.1). Nearly all clients accept frames of 16 KiB,
// and net/http fills them: the last 9 bytes of each would be a record and a system call of their own.
const FramePayload = 16<<10 - 9

// WithFrames makes the responses of HTTP/2 be written frame by frame.
func WithFrames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			w = frameWriter{w}
		}
		next.ServeHTTP(w, r)
	})
}

// frameWriter writes no more than FramePayload bytes at a time.
type frameWriter struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
func (w frameWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements io.Writer.
func (w frameWriter) Write(p []byte) (int, error) {
	for rest := p; ; {
		n, err := w.ResponseWriter.Write(rest[:min(len(rest), FramePayload)])
		if rest = rest[n:]; err != nil || len(rest) == 0 {
			return len(p) - len(rest), err
		}
	}
}
