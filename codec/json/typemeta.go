package json

import "bytes"

// AppendWithoutTypeMeta appends obj without its kind and apiVersion and with every other byte
// unchanged: the form of an item in a list of a built-in resource.
//
// The error is ErrNotObject or ErrSyntax; dst is then returned unchanged.
func AppendWithoutTypeMeta(dst, obj []byte) ([]byte, error) {
	return appendTyped(dst, obj, "", "")
}

// AppendWithTypeMeta appends obj with this kind and apiVersion in front, instead of those that it
// had: the form of a single object of a built-in resource.
//
//	{"kind":"Pod","apiVersion":"v1","metadata":…
//
// The error is ErrNotObject or ErrSyntax; dst is then returned unchanged.
func AppendWithTypeMeta(dst, obj []byte, apiVersion, kind string) ([]byte, error) {
	return appendTyped(dst, obj, apiVersion, kind)
}

// appendTyped copies the runs of members between the fields of TypeMeta. If apiVersion and kind are
// empty, the result has neither.
func appendTyped(dst, obj []byte, apiVersion, kind string) ([]byte, error) {
	m := membersOf(obj)
	if m.bad {
		return dst, At(ErrNotObject, "object", m.pos)
	}
	base := len(dst)
	dst, first := appendField(append(dst, '{'), "kind", kind, true)
	dst, first = appendField(dst, "apiVersion", apiVersion, first)
	run := -1 // start of the current run, or -1
	end := 0  // end of the last member
	for seen := 0; m.next(); end = m.start + len(m.val) {
		if m.is("kind") || m.is("apiVersion") {
			dst, first = appendRun(dst, obj, run, end, first)
			run = -1
			seen++
			continue
		}
		if run < 0 {
			run = m.nameAt
			if seen == 2 { // the rest is one run
				if end = 1 + bytes.LastIndexByte(obj, '}'); end <= run {
					return dst[:base], At(ErrSyntax, "object", len(obj))
				}
				return append(appendComma(dst, first), obj[run:end]...), nil
			}
		}
	}
	if m.bad {
		return dst[:base], At(ErrSyntax, "object", m.pos)
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

// appendRun appends the members in obj[run:end] and reports whether the object is still empty.
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
