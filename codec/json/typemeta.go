package json

import "bytes"

// StripTypeMeta appends obj to dst without its top-level kind and apiVersion,
// wherever they stand, and every other byte as it is. Items of a typed list
// are printed so.
//
// The error is ErrNotObject or ErrSyntax; dst is then returned unchanged.
func StripTypeMeta(dst, obj []byte) ([]byte, error) {
	return appendTyped(dst, obj, "", "")
}

// InsertTypeMeta appends obj to dst with kind and apiVersion in front, as a
// typed object is printed by itself:
//
//	{"kind":"Pod","apiVersion":"v1","metadata":…
//
// Those it had are dropped. Errors are those of StripTypeMeta.
func InsertTypeMeta(dst, obj []byte, apiVersion, kind string) ([]byte, error) {
	return appendTyped(dst, obj, apiVersion, kind)
}

// appendTyped copies obj in runs: from after one type field to before the
// next. Both empty means no type fields at all.
func appendTyped(dst, obj []byte, apiVersion, kind string) ([]byte, error) {
	m := membersOf(obj)
	if m.bad {
		return dst, at(ErrNotObject, "object", m.pos)
	}
	base := len(dst)
	dst, first := appendField(append(dst, '{'), "kind", kind, true)
	dst, first = appendField(dst, "apiVersion", apiVersion, first)
	run := -1 // where the run of members to keep begins, -1 when there is none
	end := 0  // where it ends
	for seen := 0; m.next(); end = m.start + len(m.val) {
		if m.is("kind") || m.is("apiVersion") {
			dst, first = appendRun(dst, obj, run, end, first)
			run = -1
			seen++
			continue
		}
		if run < 0 {
			run = m.nameAt
			if seen == 2 { // nothing more to drop: the rest goes in one run
				if end = 1 + bytes.LastIndexByte(obj, '}'); end <= run {
					return dst[:base], at(ErrSyntax, "object", len(obj))
				}
				return append(appendComma(dst, first), obj[run:end]...), nil
			}
		}
	}
	if m.bad {
		return dst[:base], at(ErrSyntax, "object", m.pos)
	}
	dst, _ = appendRun(dst, obj, run, end, first)
	return append(dst, '}'), nil
}

// appendField appends a member unless its text is empty.
func appendField(dst []byte, name, text string, first bool) ([]byte, bool) {
	if text == "" {
		return dst, first
	}
	dst = AppendString(appendComma(dst, first), name)
	return AppendString(append(dst, ':'), text), false
}

// appendRun appends the members in obj[run:end], with a comma if they are not
// the first, and reports whether nothing has been written yet.
func appendRun(dst, obj []byte, run, end int, first bool) ([]byte, bool) {
	if run < 0 {
		return dst, first
	}
	return append(appendComma(dst, first), obj[run:end]...), false
}

func appendComma(dst []byte, first bool) []byte {
	if first {
		return dst
	}
	return append(dst, ',')
}
