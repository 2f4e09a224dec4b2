package table

import (
	"strconv"

	"sluice/codec/json"
)

// appendGoNumber appends a number as Go's fmt prints it: int64, or float64 with the fewest digits. -0 is a float.
func appendGoNumber(dst []byte, v json.Value) []byte {
	_, integer := v.Int()
	f, ok := v.Float()
	if integer || !ok {
		return append(dst, v...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}
