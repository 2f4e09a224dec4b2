package table

import (
	"math"
	"strconv"

	"sluice/codec/json"
)

// appendFloat appends a number as encoding/json prints a float64: with an exponent only if it is
// very large or very small.
func appendFloat(dst []byte, f float64) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if n := len(dst); format == 'e' && n >= 4 && string(dst[n-4:n-1]) == "e-0" {
		dst = append(dst[:n-2], dst[n-1]) // e-09 becomes e-9
	}
	return dst
}

// appendGoNumber appends a number as Go's fmt prints it: integers as they are written, others as
// float64 with the fewest digits.
func appendGoNumber(dst []byte, v json.Value) []byte {
	if _, ok := v.Int(); ok {
		return append(dst, v...)
	}
	f, ok := v.Float()
	if !ok {
		return append(dst, v...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}
