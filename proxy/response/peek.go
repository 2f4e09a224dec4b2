package response

import (
	"bytes"
	"io"
	"net/http"
)

// Peek returns the first n bytes of the body of a response, or all if it is shorter. Reading the body afterwards returns
// the same bytes and the same error.
func Peek(resp *http.Response, n int64) ([]byte, error) {
	head, err := io.ReadAll(io.LimitReader(resp.Body, n))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = failed{err}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), resp.Body}
	return head, err
}

// failed is a reader that returns an error.
type failed struct{ error }

// Read implements io.Reader.
func (f failed) Read([]byte) (int, error) { return 0, f.error }
