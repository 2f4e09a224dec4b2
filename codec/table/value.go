package table

import (
	"bytes"
	"slices"
	"strconv"

	"sluice/codec/json"
)

// The functions below treat null as absent, as the apiserver does; for times see isSet.

// present reports whether v is neither absent nor null.
func present(v json.Value) bool { return v.Kind() > json.Null }

// is reports whether v is the string s.
func is(v json.Value, s string) bool {
	b, ok := v.Bytes()
	return ok && string(b) == s
}

// isTrue reports whether v is true.
func isTrue(v json.Value) bool { return string(v) == "true" }

// bytesOf returns the text of a string, or nil for any other value.
func bytesOf(v json.Value) []byte {
	b, _ := v.Bytes()
	return b
}

// empty reports whether v is the empty string or not a string.
func empty(v json.Value) bool { return len(bytesOf(v)) == 0 }

// intOf returns the value of an integer, or 0 for any other value.
func intOf(v json.Value) int64 {
	n, _ := v.Int()
	return n
}

// appendScalar appends the text of a string or a number as it is written, and nothing for any other
// value.
func appendScalar(dst []byte, v json.Value) []byte {
	if v.Kind() == json.Number {
		return append(dst, v...)
	}
	dst, _ = v.AppendText(dst)
	return dst
}

// appendOr appends a scalar, or instead if v is absent.
func appendOr(dst []byte, v json.Value, instead string) []byte {
	if present(v) {
		return appendScalar(dst, v)
	}
	return append(dst, instead...)
}

// appendFilled appends the text of a string, or instead if it is empty.
func appendFilled(dst []byte, v json.Value, instead string) []byte {
	if empty(v) {
		return append(dst, instead...)
	}
	return appendScalar(dst, v)
}

// appendInt appends an integer, or 0 for any other value.
func appendInt(dst []byte, v json.Value) []byte {
	return strconv.AppendInt(dst, intOf(v), 10) // not as it is written, which can be -0
}

// appendRatio appends "part/whole".
func appendRatio(dst []byte, part, whole json.Value) []byte {
	return appendInt(append(appendInt(dst, part), '/'), whole)
}

// appendQuantity appends a resource quantity, or 0 if it is absent. The apiserver always writes
// quantities in canonical form, so they need no parsing.
func appendQuantity(dst []byte, v json.Value) []byte {
	return appendOr(dst, v, "0")
}

// appendJoined appends the strings of an array, separated by sep.
func appendJoined(dst []byte, array json.Value, sep string) []byte {
	for i, v := range array.Elements {
		if i > 0 {
			dst = append(dst, sep...)
		}
		dst = appendScalar(dst, v)
	}
	return dst
}

// appendSorted appends parts in order and without duplicates, separated by commas. It reorders
// parts.
func appendSorted(dst []byte, parts [][]byte) []byte {
	slices.SortFunc(parts, bytes.Compare)
	var last []byte
	for i, p := range parts {
		if i > 0 {
			if bytes.Equal(p, last) {
				continue
			}
			dst = append(dst, ',')
		}
		dst, last = append(dst, p...), p
	}
	return dst
}

// condition returns the first condition of a type, or nil.
func condition(conditions json.Value, typ string) json.Value {
	for _, c := range conditions.Elements {
		if is(c.Get("type"), typ) {
			return c
		}
	}
	return nil
}

// lastCondition returns the last condition of a type, or nil.
func lastCondition(conditions json.Value, typ string) json.Value {
	var last json.Value
	for _, c := range conditions.Elements {
		if is(c.Get("type"), typ) {
			last = c
		}
	}
	return last
}

// conditionTrue reports whether the first condition of a type is "True".
func conditionTrue(conditions json.Value, typ string) bool {
	return is(condition(conditions, typ).Get("status"), "True")
}
