package json

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects may nest at most: the limit of encoding/json and
// jsontext, and of the apiserver for JSON and CBOR.
const MaxDepth = 10000

// lenient are the options of the apiserver: it accepts duplicate names and at most warns of them, and
// reads U+FFFD, as this package does, where a string is not UTF-8 or has an escaped lone surrogate.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Valid checks that b is one well-formed JSON value with nothing but space around it, that nests at most depth levels
// deep; 0 is MaxDepth. The error is ErrDepth, or ErrSyntax with the offset and the parser's reason.
func Valid(b []byte, depth int) error {
	if depth > 0 && deeper(b, depth) {
		return fmt.Errorf("more than %d levels: %w", depth, ErrDepth)
	}
	if jsontext.Value(b).IsValid(lenient...) {
		return nil
	}
	_, err := jsontext.AppendFormat(nil, b, lenient...)
	return invalid(b, err)
}

// invalid turns an error of jsontext over b into one of this package.
func invalid(b []byte, err error) error {
	if deeper(b, MaxDepth) {
		return fmt.Errorf("more than %d levels: %w", MaxDepth, ErrDepth)
	}
	return fmt.Errorf("%w: %w", ErrSyntax, err)
}

// deeper reports whether arrays and objects in b nest more than limit levels deep. It stops at the
// first string that does not end.
func deeper(b []byte, limit int) bool {
	depth := 0
	for i := 0; i >= 0 && i < len(b); {
		switch class[b[i]] & (open | shut | quote) {
		case quote:
			i, _ = SkipString(b, i)
			continue
		case open:
			if depth++; depth > limit {
				return true
			}
		case shut:
			depth--
		}
		i++
	}
	return false
}
