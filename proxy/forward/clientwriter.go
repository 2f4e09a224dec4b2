package forward

import (
	"net/http"
	"time"

	"sluice/proxy/response"
)

// writeTimeout is how long a client may take to accept a piece of a response, of up to 32 KiB as
// ReverseProxy copies it. Each piece renews it, so a stream may last for any time.
const writeTimeout = 30 * time.Second

// clientWriter writes a response to a client, with a deadline for each write.
type clientWriter struct {
	http.ResponseWriter
	deadline *response.WriteDeadline
}

func newClientWriter(w http.ResponseWriter) *clientWriter {
	return &clientWriter{w, response.NewWriteDeadline(w, writeTimeout)}
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (c *clientWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader flushes the headers of a response of unknown length at once. The client of a watch or a
// log then learns that the stream is open before the first byte arrives, and a stream that ends
// without one keeps the framing of a stream.
func (c *clientWriter) WriteHeader(code int) {
	c.ResponseWriter.WriteHeader(code)
	if code == http.StatusOK && c.Header().Get("Content-Length") == "" {
		_ = c.FlushError() // the first write returns the same error
	}
}

func (c *clientWriter) Write(p []byte) (int, error) {
	c.deadline.Arm()
	defer c.deadline.Disarm()
	return c.ResponseWriter.Write(p)
}

// FlushError implements the method that http.ResponseController.Flush calls.
func (c *clientWriter) FlushError() error {
	c.deadline.Arm()
	defer c.deadline.Disarm()
	return http.NewResponseController(c.ResponseWriter).Flush()
}
