package table

import (
	"strconv"

	"sluice/codec/json"
)

// A cell appends one cell, a JSON value.
type cell func(dst []byte, r *row) []byte

// A printer appends the text of a cell without quotes.
type printer func(dst []byte, r *row) []byte

// quoted returns the cell that prints a printer's text as a JSON string.
func quoted(p printer) cell {
	return func(dst []byte, r *row) []byte {
		start := len(dst)
		return r.quote(p(append(dst, '"'), r), start)
	}
}

// quote closes the string whose opening quote is at dst[start]. Text that needs escapes is written
// again.
func (r *row) quote(dst []byte, start int) []byte {
	text := dst[start+1:]
	if json.IsPlain(text) {
		return append(dst, '"')
	}
	r.scratch = append(r.scratch[:0], text...)
	return json.AppendString(dst[:start], r.scratch)
}

// unset is printed for an optional field that is not set.
const unset = "<unset>"

// The cells of nearly every kind's first and last column.
var (
	nameCell = quoted(func(dst []byte, r *row) []byte { return appendScalar(dst, r.name()) })
	ageCell  = quoted(func(dst []byte, r *row) []byte { return r.appendSince(dst, r.created()) })
)

// str prints the text of a field, or the empty string if it is absent.
func str(path ...string) cell { return strOr("", path...) }

// strOr prints the text of a field, or instead if it is absent.
func strOr(instead string, path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return appendOr(dst, r.at(path), instead) })
}

// filledOr prints the text of a field, or instead if it is absent or empty.
func filledOr(instead string, path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return appendFilled(dst, r.at(path), instead) })
}

// num prints the integer of a field, or 0 if it is absent.
func num(path ...string) cell {
	return func(dst []byte, r *row) []byte { return appendInt(dst, r.at(path)) }
}

// numIn prints the integer of a field of parent: 0 if the field is absent, <none> if parent is.
func numIn(parent []string, field string) cell {
	return func(dst []byte, r *row) []byte {
		if p := r.at(parent); present(p) {
			return appendInt(dst, p.Get(field))
		}
		return json.AppendString(dst, none)
	}
}

// flag prints the boolean of a field, or instead if it is absent.
func flag(instead bool, path ...string) cell {
	return func(dst []byte, r *row) []byte {
		b, ok := r.at(path).Bool()
		return strconv.AppendBool(dst, ok && b || !ok && instead)
	}
}

// count prints the number of elements or members of a field.
func count(path ...string) cell {
	return func(dst []byte, r *row) []byte {
		return strconv.AppendInt(dst, int64(r.at(path).Len()), 10)
	}
}

// quantity prints the quantity of a field, or "0" if it is absent.
func quantity(path ...string) cell { return strOr("0", path...) }

// since prints the age of the time of a field, or instead if it is not set.
func since(instead string, path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte {
		if v := r.at(path); isSet(v) {
			return r.appendSince(dst, v)
		}
		return append(dst, instead...)
	})
}

// either prints one text if a field is present, and another one if it is absent.
func either(there, absent string, path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte {
		if present(r.at(path)) {
			return append(dst, there...)
		}
		return append(dst, absent...)
	})
}

// ratio prints two integer fields as "part/whole".
func ratio(part, whole []string) cell {
	return quoted(func(dst []byte, r *row) []byte { return appendRatio(dst, r.at(part), r.at(whole)) })
}

// joined prints the strings of a list, separated by commas.
func joined(path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return appendJoined(dst, r.at(path), ",") })
}

// each prints one field of every element of a list, separated by commas.
func each(field string, path []string) cell {
	return quoted(func(dst []byte, r *row) []byte {
		for i, v := range r.at(path).Elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendScalar(dst, v.Get(field))
		}
		return dst
	})
}

// reference prints two fields of parent as "first/second", or instead if parent is absent.
func reference(instead string, parent []string, first, second string) cell {
	return quoted(func(dst []byte, r *row) []byte {
		ref := r.at(parent)
		if !present(ref) {
			return append(dst, instead...)
		}
		dst = append(appendScalar(dst, ref.Get(first)), '/')
		return appendScalar(dst, ref.Get(second))
	})
}

// path returns member names as a path.
func path(names ...string) []string { return names }

// containerNames returns the column of a pod template's container names.
func containerNames(list []string) column {
	return text("Containers", each("name", list))
}

// containerImages returns the column of a pod template's images.
func containerImages(list []string) column {
	return text("Images", each("image", list))
}
