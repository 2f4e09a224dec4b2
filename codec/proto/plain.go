package proto

import (
	"encoding/binary"

	"sluice/codec/json"
)

// Patterns of eight bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// escapable marks, in the high bits of its bytes, those bytes of w that cannot
// stand in a JSON string as they are: controls, quote, backslash, <, >, &, and
// all that is not ASCII, which needs a closer look. The lowest byte marked is
// one of them; above it marks may be wrong.
func escapable(w uint64) uint64 {
	quotes := (w | 0x04*ones) ^ 0x26*ones // zero for " and &
	angles := (w | 0x02*ones) ^ 0x3e*ones // zero for < and >
	escapes := w ^ '\\'*ones
	return ((w-0x20*ones)&^w | (quotes-ones)&^quotes | (angles-ones)&^angles | (escapes-ones)&^escapes | w) & highs
}

// appendText appends s as json.AppendString does. Nearly all text is plain
// ASCII, and most is short: that is found out eight bytes at a time and copied
// in one go.
func appendText(dst, s []byte) []byte {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		if escapable(binary.LittleEndian.Uint64(s[i:])) != 0 {
			return json.AppendString(dst, s)
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; !verbatim[c] || c >= 0x80 {
			return json.AppendString(dst, s)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
