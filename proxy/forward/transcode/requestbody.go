package transcode

import (
	"fmt"
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/codec"
)

// tooLarge returns the apiserver's error for a request body beyond its limit.
func tooLarge() error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxRequest))
}

const (
	mediaApplyCBOR = "application/apply-patch+cbor"
	mediaApplyYAML = "application/apply-patch+yaml" // JSON is YAML
)

// Body is what was read of a request body before the request is sent. Its memory is the caller's.
type Body struct {
	Bytes    []byte
	Complete bool // it is all of the body, which GetBody of the request returns
	TooLong  bool // the body is longer than the apiserver accepts
}

// requestBody is a request body that may be sent more than once, or be transcoded, if it is complete.
type requestBody struct {
	Body
	encoding codec.Encoding
	jsonType string // the Content-Type in JSON; empty if the body is not to be transcoded

	json     []byte
	refusal  error    // why there is no json, as a *StatusError
	warnings []string // Warning headers that the apiserver would add for the body as received
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

// isCBOR reports whether the body is CBOR that can be sent as JSON.
func (b *requestBody) isCBOR() bool { return b.jsonType != "" && b.encoding == codec.CBOR }

// readCloser reads from one value and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}
