package json

import (
	"bytes"
	"slices"
	"time"
)

// The functions below are the appendFuncs of the fields of metadata, one for each Go type.

func appendText(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	out, end := appendCanonical(dst, b, i)
	if end < 0 {
		return dst, 0, false, wrongType(name, b, i)
	}
	return out, end, len(out) > len(dst)+len(`""`), nil
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

// appendNonZero is appendInt with omitempty.
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

// appendTime prints a metav1.Time: UTC, in whole seconds, and null for the zero time.
func appendTime(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	end := skipValue(b, i)
	if end < 0 {
		return dst, 0, false, wrongType(name, b, i)
	}
	text, ok := Value(b[i:end]).Bytes()
	if !ok {
		return dst, 0, false, wrongType(name, b, i)
	}
	if IsTimestamp(text) && string(text) != "0001-01-01T00:00:00Z" {
		return append(append(append(dst, '"'), text...), '"'), end, true, nil
	}
	t, err := time.Parse(time.RFC3339, string(text))
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

// appendCreation is appendTime with omitzero.
func appendCreation(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	mark := len(dst)
	dst, end, _, err := appendTime(dst, b, i, name)
	return dst, end, string(dst[mark:]) != "null", err
}

// appendRaw prints a metav1.FieldsV1: the stored bytes, compacted.
func appendRaw(dst, b []byte, i int, name string) ([]byte, int, bool, error) {
	if end := canonicalFields(b, i); end >= 0 {
		return append(dst, b[i:end]...), end, true, nil
	}
	end := skipValue(b, i)
	if end < 0 {
		return dst, 0, false, At(ErrSyntax, name, i)
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

func appendList(dst, b []byte, i int, name string,
	one func(dst, b []byte, i int) ([]byte, int, error)) ([]byte, int, bool, error) {
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
		return dst, 0, false, At(ErrSyntax, name, e.pos)
	}
	return append(dst, ']'), e.pos + 1, n > 0, nil
}

// appendMap prints a map of strings in the order of its keys. Keys are nearly always sorted
// already; if not, appendUnsorted starts over.
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
		return dst, 0, false, At(ErrSyntax, name, m.pos)
	}
	return append(dst, '}'), m.pos + 1, n > 0, nil
}

// appendUnsorted is appendMap for keys in any order. Of duplicate keys the last counts.
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
		return dst, 0, false, At(ErrSyntax, name, m.pos)
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
