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
	major, n, size := in[0]>>5, argument(in), headSize(in)
	if size == 0 || size > 1 && major < 7 && n < minArgument[size] {
		return nil, nil, errHead
	}
	item, rest = in[:size:size], in[size:]
	switch major {
	case 2, 3: // strings
		item, rest = in[:size+int(n):size+int(n)], in[size+int(n):]
	case 4: // an array
		for range n {
			var one []byte
			if one, rest, err = sortEntries(rest); err != nil {
				return nil, nil, err
			}
			item = append(item, one...)
		}
	case 5: // a map
		entries := make([][]byte, n)
		for i := range entries {
			var key, value []byte
			if key, rest, err = sortEntries(rest); err != nil {
				return nil, nil, err
			}
			if value, rest, err = sortEntries(rest); err != nil {
				return nil, nil, err
			}
			entries[i] = append(key, value...)
		}
		slices.SortFunc(entries, bytes.Compare)
		item = append(item, bytes.Join(entries, nil)...)
	case 6: // a tag
		var content []byte
		if content, rest, err = sortEntries(rest); err != nil {
			return nil, nil, err
		}
		item = append(item, content...)
	}
	return item, rest, nil
}

// errHead is returned for an item of indefinite length, and for a head that is longer than its
// argument needs. The apiserver writes neither.
var errHead = errors.New("head of a CBOR item is not the shortest")

// minArgument is the smallest argument of a head by its length in bytes.
var minArgument = map[int]uint64{2: 24, 3: 1 << 8, 5: 1 << 16, 9: 1 << 32}

// headSize returns the length of an item's head in bytes, 0 for an indefinite length.
func headSize(in []byte) int {
	switch low := in[0] & 31; {
	case low < 24:
		return 1
	case low < 28:
		return 1 + 1<<(low-24)
	}
	return 0
}

// argument returns the argument in an item's head.
func argument(in []byte) uint64 {
	size := headSize(in)
	if size <= 1 {
		return uint64(in[0] & 31)
	}
	var wide [8]byte
	copy(wide[9-size:], in[1:size])
	return binary.BigEndian.Uint64(wide[:])
}
