package transcode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/codec"
	"sluice/proxy/response"
)

// ErrRequestCut is returned when the client does not send its request body to the end.
var ErrRequestCut = errors.New("request body was cut")

// errRequestTimeout is returned when the client takes more than requestTimeout to send the body.
var errRequestTimeout = response.NewBodyTimeout()

// tooLarge returns the apiserver's error for a request body beyond its limit.
func tooLarge() error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxRequest))
}

// requestTimeout bounds how long a request body may take that is buffered: the apiserver's own
// limit for whole requests.
const requestTimeout = time.Minute

// firstRead is the size of the first buffer for a body, in bytes.
const firstRead = 16 << 10

const (
	mediaApplyCBOR = "application/apply-patch+cbor"
	mediaApplyYAML = "application/apply-patch+yaml" // JSON is YAML
)

// requestBody is a request body that is buffered, to be sent more than once or to be transcoded. If
// it cannot be buffered as a whole, it can be sent once, as received.
type requestBody struct {
	buffered []byte
	rest     io.ReadCloser // what follows buffered; nil if nothing does
	tooLong  bool          // longer than maxRequest
	encoding codec.Encoding
	jsonType string // the Content-Type in JSON; empty if the body is not to be transcoded

	json     []byte
	refusal  error    // why there is no json, as a *StatusError
	warnings []string // Warning headers that the apiserver would add for the body as received
}

// readRequestBody buffers the body as far as maxRequest and the quota allow. The body of a GET is
// not buffered, since it has no meaning, and neither is that of a client that waits for a 100
// Continue of the upstream. setTimeout bounds how long reading may take.
func readRequestBody(r *http.Request, memory *reservation, setTimeout func(time.Duration)) (*requestBody, error) {
	b := &requestBody{}
	b.encoding, b.jsonType = bodyFormat(r)
	switch {
	case r.Body == nil || r.Body == http.NoBody:
	case r.Method == http.MethodGet || r.Header.Get("Expect") != "":
		b.rest = r.Body
	default:
		setTimeout(requestTimeout)
		if err := b.buffer(r.Body, memory); errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errRequestTimeout // the timeout stays, so that the connection ends
		} else if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRequestCut, err)
		}
		setTimeout(0)
	}
	if b.isComplete() && len(b.buffered) == 0 && r.Method == http.MethodDelete {
		b.jsonType = ""
	}
	return b, nil
}

// buffer reads the body into buffers of doubling size, each reserved before it is allocated.
func (b *requestBody) buffer(in io.ReadCloser, memory *reservation) error {
	for {
		if size := cap(b.buffered); len(b.buffered) == size {
			larger := min(max(2*size, firstRead), maxRequest+1)
			if memory.reserve(int64(size+larger)) != nil {
				b.rest = in
				return nil
			}
			b.buffered = append(make([]byte, 0, larger), b.buffered...)
			memory.shrink(int64(larger))
		}
		n, err := in.Read(b.buffered[len(b.buffered):cap(b.buffered)])
		b.buffered = b.buffered[:len(b.buffered)+n]
		switch {
		case len(b.buffered) > maxRequest:
			b.rest, b.tooLong = in, true
			return nil
		case errors.Is(err, io.EOF):
			return in.Close()
		case err != nil:
			return err
		}
	}
}

// bodyFormat returns the encoding of the request body and the Content-Type that it has in JSON.
// That is empty if the body is not to be transcoded: it is JSON, Protobuf or compressed, or no API
// request of this method accepts its type.
func bodyFormat(r *http.Request) (codec.Encoding, string) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	patch := r.Method == http.MethodPatch
	switch {
	case r.Method == http.MethodGet:
	case err != nil || r.Header.Get("Content-Encoding") != "":
	case media == mediaApplyCBOR && patch:
		return codec.CBOR, mediaApplyYAML
	case media == codec.MediaCBOR && !patch:
		return codec.CBOR, codec.MediaJSON
	case media == codec.MediaYAML && !patch:
		return codec.YAML, codec.MediaJSON
	}
	return codec.JSON, ""
}

// isComplete reports whether the body is buffered to its end, so that it can be sent again.
func (b *requestBody) isComplete() bool { return b.rest == nil }

// isCBOR reports whether the body is CBOR that can be sent as JSON.
func (b *requestBody) isCBOR() bool { return b.jsonType != "" && b.encoding == codec.CBOR }

// received returns a reader of the body as received.
func (b *requestBody) received() io.ReadCloser {
	head := bytes.NewReader(b.buffered)
	if b.rest == nil {
		return io.NopCloser(head)
	}
	return readCloser{io.MultiReader(head, b.rest), b.rest}
}

// size returns how many bytes of memory the body takes.
func (b *requestBody) size() int64 { return int64(cap(b.buffered) + cap(b.json)) }

// drop frees the memory.
func (b *requestBody) drop() { b.buffered, b.json = nil, nil }

// readCloser reads from one value and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}
