package json

import "io"

// Next takes the first value off a concatenation of values and returns it,
// without the space around it, and what follows it. It finds the value's
// end and checks nothing else; see [Valid].
//
// The error is io.EOF when only space is left, ErrTruncated when b ends
// inside a value, ErrSyntax when no value begins here. A number or literal
// that reaches the end of b counts as complete.
func Next(b []byte) (v Value, rest []byte, err error) {
	i := skipSpace(b, 0)
	if i >= len(b) {
		return nil, nil, io.EOF
	}
	end := skipValue(b, i)
	if end < 0 {
		if b[i] == '{' || b[i] == '[' || b[i] == '"' {
			return nil, b, at(ErrTruncated, "value that begins", i)
		}
		return nil, b, at(ErrSyntax, "value", i)
	}
	return Value(b[i:end:end]), b[end:], nil
}
