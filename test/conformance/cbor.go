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

// isCBOR reports whether an answer is CBOR: one item, or a sequence of them.
func isCBOR(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), "application/cbor") }

// The depth is the apiserver's (wire.md 3).
var (
	cborItems    = must(cbor.DecOptions{MaxNestedLevels: 10000, FieldNameByteString: cbor.FieldNameByteStringAllowed}.DecMode())
	cborNotation = must(cbor.DiagOptions{MaxNestedLevels: 10000, ByteStringText: true, FloatPrecisionIndicator: true}.DiagMode())
)

func must[T any](t T, err error) T {
	if err != nil {
		panic(err) // for options that stand here
	}
	return t
}

// steadyCBOR writes CBOR down in diagnostic notation (RFC 8949, section 8), an
// item a line and the entries of maps in order, since the apiserver shuffles
// them, and does to it what steady does to JSON. Notation tells all that two
// encoders could do differently: byte strings from text, integers from floats,
// these by their width, and tags.
func steadyCBOR(body []byte, exact bool) ([]byte, error) {
	var text []byte
	for len(body) > 0 {
		if _, err := cborItems.UnmarshalFirst(body, &anything{}); err != nil {
			return nil, err
		}
		item, rest, err := inOrder(body)
		if err != nil {
			return nil, err
		}
		body = rest
		// Inside an array, since a tag that stands first is not told.
		line, err := cborNotation.Diagnose(append([]byte{0x81}, item...))
		if err != nil {
			return nil, err
		}
		text = append(append(text, line...), '\n')
	}
	switch {
	case cborList.Match(text):
		// The last of them is the list's own.
		i := max(bytes.LastIndex(text, []byte("'metadata': {")), 0)
		return append(text[:i:i], cborListMeta.ReplaceAllFunc(text[i:], func(meta []byte) []byte { return steadyMeta(meta, exact) })...), nil
	case bytes.Contains(text, []byte("'BOOKMARK'")):
		return cborBookmark.ReplaceAllFunc(text, steadyBookmark), nil
	case bytes.Contains(text, []byte("'Status'")):
		return steadyMoment(text), nil
	}
	return text, nil
}

// In the order of their bytes, short names come first: a list begins with its
// kind and ends with its metadata and version.
var (
	cborList     = regexp.MustCompile(`^\[55799\(\{'kind': '\w*List', `)
	cborListMeta = regexp.MustCompile(`^'metadata': \{[^{}]*\}, 'apiVersion': '[^']*'\}\)\]\n$`)
	cborBookmark = regexp.MustCompile(`(?m)^\[55799\(\{'type': 'BOOKMARK', .*\n`)
)

// anything is an item of CBOR that only has to be well-formed.
type anything struct{}

// UnmarshalCBOR implements cbor.Unmarshaler.
func (*anything) UnmarshalCBOR([]byte) error { return nil }

// inOrder returns the first item of well-formed CBOR with the entries of all
// its maps in the order of their bytes, and what follows the item.
func inOrder(in []byte) (item, rest []byte, err error) {
	major, n, size := in[0]>>5, argument(in), headSize(in)
	if size == 0 || size > 1 && major < 7 && n < least[size] {
		return nil, nil, errHead
	}
	item, rest = in[:size:size], in[size:]
	switch major {
	case 2, 3: // strings
		item, rest = in[:size+int(n):size+int(n)], in[size+int(n):]
	case 4: // an array
		for range n {
			var one []byte
			if one, rest, err = inOrder(rest); err != nil {
				return nil, nil, err
			}
			item = append(item, one...)
		}
	case 5: // a map
		entries := make([][]byte, n)
		for i := range entries {
			var key, value []byte
			if key, rest, err = inOrder(rest); err != nil {
				return nil, nil, err
			}
			if value, rest, err = inOrder(rest); err != nil {
				return nil, nil, err
			}
			entries[i] = append(key, value...)
		}
		slices.SortFunc(entries, bytes.Compare)
		item = append(item, bytes.Join(entries, nil)...)
	case 6: // a tag
		var content []byte
		if content, rest, err = inOrder(rest); err != nil {
			return nil, nil, err
		}
		item = append(item, content...)
	}
	return item, rest, nil
}

// errHead is returned for an item of indefinite length, and for a head that is
// longer than its argument: the apiserver makes neither.
var errHead = errors.New("head of a CBOR item that is not the shortest")

// least are the smallest arguments of heads that are so many bytes long.
var least = map[int]uint64{2: 24, 3: 1 << 8, 5: 1 << 16, 9: 1 << 32}

// headSize is the length of an item's head, 0 if it tells no length.
func headSize(in []byte) int {
	switch low := in[0] & 31; {
	case low < 24:
		return 1
	case low < 28:
		return 1 + 1<<(low-24)
	}
	return 0
}

// argument is the number in an item's head.
func argument(in []byte) uint64 {
	size := headSize(in)
	if size <= 1 {
		return uint64(in[0] & 31)
	}
	var wide [8]byte
	copy(wide[9-size:], in[1:size])
	return binary.BigEndian.Uint64(wide[:])
}
