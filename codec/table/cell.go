package table

import (
	"bytes"
	"slices"
	"strconv"

	"sluice/codec/json"
)

// cell appends one cell, a JSON value.
type cell func(dst []byte, r *row) []byte

// printer appends the text of a cell, unquoted.
type printer func(dst []byte, r *row) []byte

// quoted is the cell with a printer's text as a JSON string.
func quoted(p printer) cell {
	return func(dst []byte, r *row) []byte {
		start := len(dst)
		return r.quote(p(append(dst, '"'), r), start)
	}
}

// quote ends the string whose opening quote is at dst[start]. Text that
// needs escapes is written again.
func (r *row) quote(dst []byte, start int) []byte {
	text := dst[start+1:]
	if plain(text) {
		return append(dst, '"')
	}
	r.scratch = append(r.scratch[:0], text...)
	return json.AppendString(dst[:start], r.scratch)
}

// plain reports whether text needs no escapes inside a JSON string.
func plain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// unset is what stands for a setting that was not made.
const unset = "<unset>"

// The cells of nearly every kind.
var (
	nameCell = quoted(func(dst []byte, r *row) []byte { return appendScalar(dst, r.name) })
	ageCell  = quoted(func(dst []byte, r *row) []byte { return appendSince(dst, r.created, r.now) })
)

// str is the text of a field, empty if it is absent.
func str(path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return appendScalar(dst, r.at(path)) })
}

// strOr is the text of a field, or instead if it is absent.
func strOr(instead string, path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return appendOr(dst, r.at(path), instead) })
}

// filledOr is the text of a field, or instead if it is absent or empty.
func filledOr(instead string, path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return appendFilled(dst, r.at(path), instead) })
}

// num is the integer of a field, 0 if it is absent.
func num(path ...string) cell {
	return func(dst []byte, r *row) []byte { return appendInt(dst, r.at(path)) }
}

// numIn is the integer of a field of parent, 0 if it is absent, or <none> if
// parent is.
func numIn(parent []string, field string) cell {
	return func(dst []byte, r *row) []byte {
		if p := r.at(parent); present(p) {
			return appendInt(dst, p.Get(field))
		}
		return json.AppendString(dst, none)
	}
}

// flag is the boolean of a field, or instead if it is absent.
func flag(instead bool, path ...string) cell {
	return func(dst []byte, r *row) []byte {
		b, ok := r.at(path).Bool()
		return strconv.AppendBool(dst, ok && b || !ok && instead)
	}
}

// count is the number of a field's elements.
func count(path ...string) cell {
	return func(dst []byte, r *row) []byte {
		return strconv.AppendInt(dst, int64(r.at(path).Len()), 10)
	}
}

// quantity is the quantity of a field, "0" if it is absent.
func quantity(path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return appendQuantity(dst, r.at(path)) })
}

// ratio is "part/whole" of two integer fields.
func ratio(part, whole []string) cell {
	return quoted(func(dst []byte, r *row) []byte { return appendRatio(dst, r.at(part), r.at(whole)) })
}

// joined is the strings of a list with commas between them.
func joined(path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return appendJoined(dst, r.at(path), ",") })
}

// each is one field of every element of a list, with commas between them.
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

// path is a list of member names.
func path(names ...string) []string { return names }

// containerNames is the column of a pod template's container names.
func containerNames(list []string) column {
	return text("Containers", "Names of each container in the template.", each("name", list))
}

// containerImages is the column of a pod template's images.
func containerImages(list []string) column {
	return text("Images", "Images referenced by each container in the template.", each("image", list))
}

// sortParts sorts by bytes.
func sortParts(parts [][]byte) { slices.SortFunc(parts, bytes.Compare) }
