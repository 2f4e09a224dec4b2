package table

import (
	"strconv"

	"sluice/codec/json"
)

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
