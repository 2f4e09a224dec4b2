package json

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Indentation grows with the square of the depth: an object of 190 KB has become 405 MB long. Ordinary
// objects become less than four times as long.
const (
	indentFactor = 16
	indentFloor  = 64 << 10
)

// MaxIndented returns how long the indented form of a value of n bytes may be, in JSON or YAML.
func MaxIndented(n int) int { return indentFactor*n + indentFloor }

// AppendIndent appends the JSON value src with the indentation that the apiserver gives pretty JSON, which is that of
// encoding/json.Indent: two spaces per level, empty objects and arrays on one line, no newline at the end. depth is
// the level at which the value stands inside a larger document: each line after the first is indented by that many
// more levels.
//
// The error is ErrSize for a value that would become longer than MaxIndented permits, ErrSyntax or ErrDepth; dst is
// then returned unchanged.
func AppendIndent(dst, src []byte, depth int) ([]byte, error) {
	if indentedSize(src, depth) > MaxIndented(len(src)) {
		return dst, ErrSize
	}
	const level = "  "
	out, err := jsontext.AppendFormat(dst, src, jsontext.WithIndent(level), jsontext.WithIndentPrefix(strings.Repeat(level, depth)),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return dst, invalid(src, err)
	}
	return out, nil
}

// indentedSize returns the length of the indented form of compact JSON, in bytes.
func indentedSize(src []byte, depth int) int {
	size := len(src)
	for i := 0; i >= 0 && i < len(src); {
		end := i + 1
		switch src[i] {
		case '"':
			end, _ = SkipString(src, i)
		case '{', '[':
			depth++
		case '}', ']':
			if i > 0 && class[src[i-1]]&open == 0 {
				size += 4 * depth // the line breaks before the first member and before the bracket, and their spaces
			}
			depth--
		case ',':
			size += 1 + 2*depth
		case ':':
			size++
		}
		i = end
	}
	return size
}
