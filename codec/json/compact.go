package json

import "github.com/go-json-experiment/json/jsontext"

// compactOptions make jsontext print the output of a json.Marshaler as encoding/json does:
// strings keep their spelling, except that characters that HTML and JavaScript could misread are escaped.
var compactOptions = []jsontext.Options{
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	jsontext.PreserveRawStrings(true), jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true),
}

// AppendCompact appends the JSON value src as encoding/json prints the result of a json.Marshaler:
// without space between tokens, and with <, >, &, U+2028 and U+2029 escaped inside strings. Other
// escapes, number spellings, the order of members, duplicates and invalid UTF-8 stay as they are.
//
// The error is ErrSyntax or ErrDepth; dst is then returned unchanged.
func AppendCompact(dst, src []byte) ([]byte, error) {
	if IsObjects(src) {
		return append(dst, src...), nil
	}
	out, err := jsontext.AppendFormat(dst, src, compactOptions...)
	if err != nil {
		return dst, invalid(src, err)
	}
	return out, nil
}

// IsObjects reports whether src certainly is an object of nested objects only, which AppendCompact does not change.
func IsObjects(src []byte) bool { return canonicalFields(src, 0) == len(src) }

// canonicalFields returns the index after the object at b[i] if that consists of nested objects
// only and AppendCompact would not change a byte of it; -1 says nothing. FieldsV1, which make up a
// third of many objects, have this form, and this check is more than twice as fast as formatting
// them.
func canonicalFields(b []byte, i int) int {
	depth := 0
	for i < len(b) && b[i] == '{' && depth < MaxDepth {
		depth++
		i++
		if i < len(b) && b[i] == '}' {
			for i < len(b) && b[i] == '}' {
				i++
				if depth--; depth == 0 {
					return i
				}
			}
			if i >= len(b) || b[i] != ',' {
				return -1
			}
			i++
		}
		if i = canonicalString(b, i); i < 0 || i >= len(b) || b[i] != ':' {
			return -1
		}
		i++
	}
	return -1
}

// canonicalString returns the index after the string at b[i] if it is spelled as encoding/json
// would print it; -1 says nothing: strings with \u escapes or bytes beyond ASCII are not looked at
// closely.
func canonicalString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	i = plainRun(b, i+1)
	for i+1 < len(b) && b[i] == '\\' && shortEscape[b[i+1]] {
		i = plainRun(b, i+2)
	}
	if i < len(b) && b[i] == '"' {
		return i + 1
	}
	return -1
}

// shortEscape marks the bytes that follow a backslash in the escapes that encoding/json prints,
// except u.
var shortEscape = [256]bool{'"': true, '\\': true, 'n': true, 't': true, 'r': true, 'b': true, 'f': true}
