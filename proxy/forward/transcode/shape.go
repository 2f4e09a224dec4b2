package transcode

import (
	"bufio"
	"bytes"
	"io"
	"net/http"

	"github.com/klauspost/compress/gzip"

	"sluice/codec"
	"sluice/codec/json"
)

// peekSize is how much of a response is read to find its kind, in bytes.
const peekSize = 4 << 10

// matchesResponse reports whether the response is a Table or metadata, as the target: in these,
// kind is the first member.
func (t *target) matchesResponse(resp *http.Response) bool {
	in := bufio.NewReaderSize(resp.Body, peekSize)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{in, resp.Body}
	head, _ := in.Peek(peekSize)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		head, _ = io.ReadAll(io.LimitReader(z, peekSize)) // fails where head ends
	}
	return t.matches(head)
}

// matches reports whether an object, whose end may be missing, has the target's shape.
func (t *target) matches(object json.Value) bool {
	kind, _ := object.Get("kind").Text()
	switch t.format.Shape {
	case codec.Table:
		return kind == "Table" || kind == "Status"
	case codec.Metadata:
		return kind == "PartialObjectMetadata" || kind == "PartialObjectMetadataList" || kind == "Status"
	}
	return true
}

// keepsShape reports whether the object needs another encoding only.
func (t *target) keepsShape(object json.Value, f codec.Format) bool {
	kind, _ := object.Get("kind").Text()
	return f.Shape == codec.Object || kind == "Status" ||
		f.Shape == codec.Table && kind == "Table" || f.Encoding == codec.JSON && t.matches(object)
}
