package table

import (
	"strconv"

	"sluice/codec/json"
)

// appendGoNumber appends a number as Go's fmt prints it: int64, or float64 with the fewest digits.
func appendGoNumber(dst []byte, v json.Value) []byte {
	if n, ok := v.Int(); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	f, ok := v.Float()
	if !ok {
		return append(dst, v...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}
