package json

import "bytes"

// AppendWithoutPoints appends one JSON value with its whole-number floats as encoding/json prints them:
// 8.0 becomes 8. Numbers end in .0 where the writer keeps floats apart from integers, as that of package
// cbor does. src must be well-formed.
func AppendWithoutPoints(dst, src []byte) []byte {
	const point = ".0"
	for i := 0; i < len(src); {
		end := i + 1
		switch c := src[i]; {
		case c == '"':
			end, _ = SkipString(src, i)
		case c == '-' || '0' <= c && c <= '9':
			end = skipScalar(src, i)
			if number := src[i:end]; bytes.HasSuffix(number, []byte(point)) {
				dst = append(dst, number[:len(number)-len(point)]...)
				i = end
				continue
			}
		}
		dst = append(dst, src[i:end]...)
		i = end
	}
	return dst
}
