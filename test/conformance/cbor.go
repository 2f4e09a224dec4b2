package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// isCBOR reports whether a response is CBOR: one data item, or a sequence of them.
func isCBOR(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), "application/cbor") }

// The nesting limit is that of the apiserver (wire.md 3).
var (
	cborItems    = must(cbor.DecOptions{MaxNestedLevels: 10000, FieldNameByteString: cbor.FieldNameByteStringAllowed}.DecMode())
	cborNotation = must(cbor.DiagOptions{MaxNestedLevels: 10000, ByteStringText: true, FloatPrecisionIndicator: true}.DiagMode())
)

func must[T any](t T, err error) T {
	if err != nil {
		panic(err) // the options are constants
	}
	return t
}

// normalizeCBOR returns CBOR in diagnostic notation (RFC 8949, section 8), one item per line with
// sorted map entries, since the apiserver shuffles them, and normalized as JSON is. The notation
// shows everything that two encoders could do differently: byte and text strings, integers and
// floats, the width of floats, and tags.
func normalizeCBOR(body []byte, exact bool) ([]byte, error) {
	var text []byte
	for len(body) > 0 {
		if _, err := cborItems.UnmarshalFirst(body, &anything{}); err != nil {
			return nil, err
		}
		item, rest, err := sortEntries(body)
		if err != nil {
			return nil, err
		}
		body = rest
		// Within an array, since the notation omits a tag at the beginning.
		line, err := cborNotation.Diagnose(append([]byte{0x81}, item...))
		if err != nil {
			return nil, err
		}
		text = append(append(text, line...), '\n')
	}
	switch {
	case cborList.Match(text):
		// The last one is that of the list.
		i := max(bytes.LastIndex(text, []byte("'metadata': {")), 0)
		return append(text[:i:i], cborListMeta.ReplaceAllFunc(text[i:], func(meta []byte) []byte { return normalizeListMeta(meta, exact) })...), nil
	case bytes.Contains(text, []byte("'BOOKMARK'")):
		return cborBookmark.ReplaceAllFunc(text, normalizeBookmark), nil
	case bytes.Contains(text, []byte("'Status'")):
		return normalizeMoments(text), nil
	}
	return text, nil
}

// Sorted by their bytes, shorter names come first: a list begins with its kind and ends with its
// metadata and apiVersion.
var (
	cborList     = regexp.MustCompile(`^\[55799\(\{'kind': '\w*List', `)
	cborListMeta = regexp.MustCompile(`^'metadata': \{[^{}]*\}, 'apiVersion': '[^']*'\}\)\]\n$`)
	cborBookmark = regexp.MustCompile(`(?m)^\[55799\(\{'type': 'BOOKMARK', .*\n`)
)

// anything decodes every well-formed CBOR item.
type anything struct{}

// UnmarshalCBOR implements cbor.Unmarshaler.
func (*anything) UnmarshalCBOR([]byte) error { return nil }

// sortEntries returns the first item of well-formed CBOR with the entries of all its maps sorted by
// their bytes, and the rest after the item.
func sortEntries(in []byte) (item, rest []byte, err error) {
	const byteString, text, array, mapping, tag, simple = 2, 3, 4, 5, 6, 7 // major types
	major := in[0] >> 5
	size, n := head(in)
	if size == 0 || size > 1 && major < simple && n < minArgument[size] {
		return nil, nil, errHead
	}
	children := 0
	switch major {
	case byteString, text:
		size += int(n)
	case array:
		children = int(n)
	case mapping:
		children = 2 * int(n)
	case tag:
		children = 1
	}
	item, rest = in[:size:size], in[size:]
	parts := make([][]byte, children)
	for i := range parts {
		if parts[i], rest, err = sortEntries(rest); err != nil {
			return nil, nil, err
		}
	}
	if major == mapping {
		var entries [][]byte
		for entry := range slices.Chunk(parts, 2) {
			entries = append(entries, bytes.Join(entry, nil))
		}
		parts = slices.SortedFunc(slices.Values(entries), bytes.Compare)
	}
	return append(item, bytes.Join(parts, nil)...), rest, nil
}

// errHead is returned for an item of indefinite length, and for a head that is longer than its
// argument needs. The apiserver writes neither.
var errHead = errors.New("head of a CBOR item is not the shortest")

// minArgument is the smallest argument of a head by its length in bytes.
var minArgument = map[int]uint64{2: 24, 3: 1 << 8, 5: 1 << 16, 9: 1 << 32}

// head returns the length of an item's head in bytes, 0 for an indefinite length, and its argument.
func head(in []byte) (size int, argument uint64) {
	switch low := in[0] & 31; {
	case low < 24:
		return 1, uint64(low)
	case low < 28:
		size = 1 + 1<<(low-24)
		var wide [8]byte
		copy(wide[9-size:], in[1:size])
		return size, binary.BigEndian.Uint64(wide[:])
	}
	return 0, 0
}
