package table

import (
	"strconv"

	"sluice/codec/json"
)

// A shortlist prints the first elements of a list: "a,b,c + 2 more...".
type shortlist struct {
	max, n int
	sep    string
}

// add counts one element and reports whether it must be printed. The separator before it has then
// been appended.
func (l *shortlist) add(dst []byte) ([]byte, bool) {
	l.n++
	if l.n > l.max {
		return dst, false
	}
	if l.n > 1 {
		dst = append(dst, l.sep...)
	}
	return dst, true
}

// end appends the number of elements that were not printed, if any.
func (l *shortlist) end(dst []byte) []byte { return appendMore(dst, l.n-l.max) }

// appendFirst appends the first three elements of an array, as print appends each, or unset if there is no text.
func appendFirst(dst []byte, array json.Value, print func(dst []byte, v json.Value) []byte) []byte {
	list, start := shortlist{max: 3, sep: ","}, len(dst)
	for _, v := range array.Elements {
		var ok bool
		if dst, ok = list.add(dst); ok {
			dst = print(dst, v)
		}
	}
	return list.endOr(dst, start, unset)
}

// appendMore appends " + n more..." if n is positive.
func appendMore(dst []byte, n int) []byte {
	if n <= 0 {
		return dst
	}
	dst = strconv.AppendInt(append(dst, " + "...), int64(n), 10)
	return append(dst, " more..."...)
}

// endOr is end for a list whose text begins at dst[start]; if the text is empty, it appends
// instead.
func (l *shortlist) endOr(dst []byte, start int, instead string) []byte {
	if dst = l.end(dst); len(dst) == start {
		dst = append(dst, instead...)
	}
	return dst
}
