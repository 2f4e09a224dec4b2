package json

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects may nest at most: the limit of encoding/json and
// jsontext, and of the apiserver for JSON and CBOR.
const MaxDepth = 10000

// Limits are the bounds of Valid. The zero value means the documented defaults.
type Limits struct {
	Depth int // levels of nesting; 0, and anything above MaxDepth, is MaxDepth

	// AllowInvalidUTF8 accepts strings that are not UTF-8, and escaped lone surrogates. The
	// apiserver accepts both in request bodies and reads U+FFFD, as this package does.
	AllowInvalidUTF8 bool
}

// The apiserver accepts duplicate names and at most warns of them, so both modes allow them.
var (
	strict  = []jsontext.Options{jsontext.AllowDuplicateNames(true)}
	lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
)

// Valid checks that b is one well-formed JSON value with nothing but space around it, within the
// limits. The error is ErrDepth, or ErrSyntax with the offset and the parser's reason.
func Valid(b []byte, limits Limits) error {
	if d := limits.Depth; d > 0 && d < MaxDepth && deeper(b, d) {
		return fmt.Errorf("more than %d levels: %w", d, ErrDepth)
	}
	options := strict
	if limits.AllowInvalidUTF8 {
		options = lenient
	}
	if jsontext.Value(b).IsValid(options...) {
		return nil
	}
	_, err := jsontext.AppendFormat(nil, b, options...)
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
