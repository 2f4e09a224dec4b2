package table

import (
	"bytes"
	"strings"

	"sluice/codec/json"
)

// What cells ask of a value. An absent value and null are the same to them,
// as they are to the apiserver.

// present reports whether v is there and not null.
func present(v json.Value) bool { return v.Kind() > json.Null }

// is reports whether v is the string s.
func is(v json.Value, s string) bool {
	b, ok := v.Bytes()
	return ok && string(b) == s
}

// isTrue reports whether v is true.
func isTrue(v json.Value) bool { return string(v) == "true" }

// bytesOf returns the text of a string; nil for anything else.
func bytesOf(v json.Value) []byte {
	b, _ := v.Bytes()
	return b
}

// empty reports whether v is not a string with something in it.
func empty(v json.Value) bool { return len(bytesOf(v)) == 0 }

// intOf returns the value of an integer, 0 for anything else.
func intOf(v json.Value) int64 {
	n, _ := v.Int()
	return n
}

// appendScalar appends a string's text or a number as it is written, nothing
// for anything else.
func appendScalar(dst []byte, v json.Value) []byte {
	if v.Kind() == json.Number {
		return append(dst, v...)
	}
	dst, _ = v.AppendText(dst)
	return dst
}

// appendOr appends a scalar, or instead if there is none.
func appendOr(dst []byte, v json.Value, instead string) []byte {
	if present(v) {
		return appendScalar(dst, v)
	}
	return append(dst, instead...)
}

// appendFilled appends a string's text, or instead if there is none in it.
func appendFilled(dst []byte, v json.Value, instead string) []byte {
	if empty(v) {
		return append(dst, instead...)
	}
	return appendScalar(dst, v)
}

// appendInt appends an integer as it is written, 0 if there is none.
func appendInt(dst []byte, v json.Value) []byte {
	if _, ok := v.Int(); ok {
		return append(dst, v...)
	}
	return append(dst, '0')
}

// appendRatio appends "part/whole".
func appendRatio(dst []byte, part, whole json.Value) []byte {
	return appendInt(append(appendInt(dst, part), '/'), whole)
}

// appendQuantity appends a resource quantity, which the apiserver always
// writes in canonical form; a zero one if it is absent.
func appendQuantity(dst []byte, v json.Value) []byte {
	return appendOr(dst, v, "0")
}

// appendLower appends text in lower case.
func appendLower(dst, text []byte) []byte {
	for i, c := range text {
		switch {
		case c >= 0x80: // rare: leave the rest to Unicode
			return append(dst, strings.ToLower(string(text[i:]))...)
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// appendJoined appends the strings of an array with sep between them.
func appendJoined(dst []byte, array json.Value, sep string) []byte {
	for i, v := range array.Elements {
		if i > 0 {
			dst = append(dst, sep...)
		}
		dst = appendScalar(dst, v)
	}
	return dst
}

// appendSorted appends parts in order, each once, with commas between them.
// It reorders parts.
func appendSorted(dst []byte, parts [][]byte) []byte {
	sortParts(parts)
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

// condition returns the first condition of a type, nil if there is none.
func condition(conditions json.Value, typ string) json.Value {
	for _, c := range conditions.Elements {
		if is(c.Get("type"), typ) {
			return c
		}
	}
	return nil
}

// lastCondition returns the last condition of a type, nil if there is none.
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

// memberOf is Get for a name that is not a string.
func memberOf(object json.Value, name []byte) json.Value {
	for key, v := range object.Members {
		if bytes.Equal(key, name) {
			return v
		}
	}
	return nil
}
