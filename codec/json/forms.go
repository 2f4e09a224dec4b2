package json

import (
	"bytes"
	"slices"
	"time"
)

// What follows are the forms of the fields of metadata; see form.

func appendText(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	out, end := appendCanonical(dst, b, i)
	if end < 0 {
		return dst, 0, false, wrongType(name, b, i)
	}
	return out, end, len(out) > len(dst)+2, nil // more than ""
}

func appendBool(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	end := skipValue(b, i)
	if end < 0 {
		return dst, 0, false, wrongType(name, b, i)
	}
	if _, ok := Value(b[i:end]).Bool(); !ok {
		return dst, 0, false, wrongType(name, b, i)
	}
	return append(dst, b[i:end]...), end, true, nil
}

func appendInt(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	_, dst, end, err := appendInteger(dst, b, i, name)
	return dst, end, true, err
}

// appendNonZero is appendInt for a field that is left out when zero.
func appendNonZero(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	n, dst, end, err := appendInteger(dst, b, i, name)
	return dst, end, n != 0, err
}

func appendInteger(dst, b []byte, i int, name string) (int64, []byte, int, error) {
	end := skipValue(b, i)
	if end < 0 {
		return 0, dst, 0, wrongType(name, b, i)
	}
	n, ok := Value(b[i:end]).Int()
	if !ok {
		return 0, dst, 0, wrongType(name, b, i)
	}
	if n == 0 {
		return 0, append(dst, '0'), end, nil // also for -0
	}
	return n, append(dst, b[i:end]...), end, nil
}

// appendTime prints a metav1.Time: UTC, whole seconds, null for the zero time.
func appendTime(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	end := skipValue(b, i)
	if end < 0 {
		return dst, 0, false, wrongType(name, b, i)
	}
	v := Value(b[i:end])
	if isUTC(v) && string(v) != `"0001-01-01T00:00:00Z"` {
		return append(dst, v...), end, true, nil
	}
	text, ok := v.Text()
	if !ok {
		return dst, 0, false, wrongType(name, b, i)
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return dst, 0, false, wrongType(name, b, i)
	}
	if t.IsZero() {
		return append(dst, "null"...), end, true, nil
	}
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339)
	return append(dst, '"'), end, true, nil
}

// appendCreation is appendTime for a field that is left out when zero.
func appendCreation(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	mark := len(dst)
	dst, end, _, err := appendTime(dst, b, i, name)
	return dst, end, string(dst[mark:]) != "null", err
}

// isUTC tells for certain only when v is a time in the very form that it will
// be printed in. Days above 28 are left to time.Parse.
func isUTC(v Value) bool {
	const form = `"0000-00-00T00:00:00Z"`
	if len(v) != len(form) {
		return false
	}
	for i, c := range []byte(form) {
		if c == '0' && (v[i] < '0' || v[i] > '9') || c != '0' && v[i] != c {
			return false
		}
	}
	two := func(i int) int { return int(v[i]-'0')*10 + int(v[i+1]-'0') }
	month, day := two(6), two(9)
	return month >= 1 && month <= 12 && day >= 1 && day <= 28 && two(12) < 24 && two(15) < 60 && two(18) < 60
}

// appendRaw prints a metav1.FieldsV1: what was stored, compacted.
func appendRaw(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	if end := canonicalFields(b, i); end >= 0 {
		return append(dst, b[i:end]...), end, true, nil
	}
	end := skipValue(b, i)
	if end < 0 {
		return dst, 0, false, at(ErrSyntax, name, i)
	}
	dst, err := AppendCompact(dst, b[i:end])
	return dst, end, true, err
}

func appendTexts(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	return appendList(dst, b, i, name, func(dst, b []byte, i int) ([]byte, int, error) {
		dst, end := appendCanonical(dst, b, i)
		if end < 0 {
			return dst, 0, wrongType(name, b, i)
		}
		return dst, end, nil
	})
}

func appendOwners(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	return appendList(dst, b, i, name, func(dst, b []byte, i int) ([]byte, int, error) {
		return appendStruct(dst, b, i, ownerReference, name)
	})
}

func appendManaged(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	return appendList(dst, b, i, name, func(dst, b []byte, i int) ([]byte, int, error) {
		return appendStruct(dst, b, i, managedFields, name)
	})
}

func appendList(dst, b []byte, i int, name string, one func(dst, b []byte, i int) ([]byte, int, error)) ([]byte, int, bool, error) {
	e := elementsAt(b, i)
	if e.bad {
		return dst, 0, false, wrongType(name, b, i)
	}
	dst = append(dst, '[')
	n := 0
	for ; e.more(); n++ {
		out, end, err := one(appendComma(dst, n == 0), b, e.pos)
		if err != nil {
			return dst, 0, false, err
		}
		if dst = out; !e.after(end) {
			break
		}
	}
	if e.bad {
		return dst, 0, false, at(ErrSyntax, name, e.pos)
	}
	return append(dst, ']'), e.pos + 1, n > 0, nil
}

// appendMap prints a map of strings, its keys sorted. They are as a rule; if
// not, it starts over.
func appendMap(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	m := membersAt(b, i)
	if m.bad {
		return dst, 0, false, wrongType(name, b, i)
	}
	base, n := len(dst), 0
	dst = append(dst, '{')
	var last []byte
	for ; m.nextName(); n++ {
		key := m.key()
		if n > 0 && bytes.Compare(last, key) >= 0 {
			return appendUnsorted(dst[:base], b, i, name)
		}
		last = key
		dst, _ = appendCanonical(appendComma(dst, n == 0), b, m.nameAt)
		out, end := appendCanonical(append(dst, ':'), b, m.start)
		if end < 0 {
			return dst, 0, false, wrongType(name, b, m.start)
		}
		if dst = out; !m.after(end) {
			break
		}
	}
	if m.bad {
		return dst, 0, false, at(ErrSyntax, name, m.pos)
	}
	return append(dst, '}'), m.pos + 1, n > 0, nil
}

// appendUnsorted is appendMap for keys in any order; of equal ones the last
// counts.
func appendUnsorted(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	type pair struct {
		key   []byte
		start int
	}
	var pairs []pair
	m := membersAt(b, i)
	for m.next() {
		pairs = append(pairs, pair{m.key(), m.start})
	}
	if m.bad {
		return dst, 0, false, at(ErrSyntax, name, m.pos)
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	dst = append(dst, '{')
	first := true
	for k, p := range pairs {
		if k+1 < len(pairs) && bytes.Equal(p.key, pairs[k+1].key) {
			continue
		}
		dst = append(AppendString(appendComma(dst, first), p.key), ':')
		first = false
		out, end := appendCanonical(dst, b, p.start)
		if end < 0 {
			return dst, 0, false, wrongType(name, b, p.start)
		}
		dst = out
	}
	return append(dst, '}'), m.pos + 1, true, nil
}
