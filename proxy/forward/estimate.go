package forward

import (
	"sluice/codec"
	"sluice/codec/json"
)

// estimate is how many bytes a JSON value becomes at most in another encoding,
// when it stands depth levels deep: what is indented grows by its nesting, and
// a YAML text is broken at escapes, and at spaces beyond a width.
func estimate(src []byte, f codec.Format, depth int) int64 {
	yaml := f.Encoding == codec.YAML
	line := 0   // what a new line takes at this depth
	column := 0 // how far a line of YAML may have got
	n, text, slash := 0, false, false
	indent := func() {
		if yaml || f.Pretty {
			line = 4 + 2*depth
		}
	}
	indent()
	n += 8 + line
	for _, c := range src {
		n++
		switch {
		case c >= 0x7f: // may become an escape, or a replacement
			n += 3
			column += 4
			slash = false
		case text:
			column++
			escaped := slash
			slash = c == '\\' && !escaped
			switch {
			case c == '"' && !escaped:
				text = false
			case yaml && (escaped || slash || c == ' ' && column > yamlWidth-2*depth):
				n += 2 + line
				column = 0
			case yaml && c == '\'':
				n++
			}
		case c == '"':
			text, column = true, yamlWidth
			n += 4
		case c == '{' || c == '[':
			depth++
			indent()
			n += 4 + line
		case c == '}' || c == ']':
			depth--
			indent()
			n += line
		case c == ',' || c == ':':
			n += 4 + line
		case c == '.' || c == 'e' || c == 'E':
			n += 9 // a float
		}
	}
	return int64(n)
}

// yamlWidth is the column beyond which YAML texts are broken.
const yamlWidth = 80

// estimate is how many bytes an answer becomes at most.
func (w *wish) estimate(object json.Value, f codec.Format) int64 {
	if w.keeps(object, f) {
		return estimate(object, f, 0)
	}
	kind, version := object.Get("kind"), object.Get("apiVersion")
	row := int64(rowBytes) + estimate(kind, f, 0) + estimate(version, f, 0)
	made := func(v json.Value) int64 {
		n := 2 * estimate(v.Get("metadata"), f, rowDepth) // a Table's cells repeat some
		if f.Shape == codec.Table && f.Include == codec.IncludeObject {
			n += estimate(v, f, rowDepth)
		}
		return n + row
	}
	n := tableBytes + row + made(object)
	for _, v := range object.Get("items").Elements {
		n += made(v)
	}
	return n
}

const (
	// rowBytes is what is said around the metadata of one object, indented.
	rowBytes = 1 << 10
	// rowDepth is how deep an object stands in a Table.
	rowDepth = 6
	// tableBytes is what is said of its columns.
	tableBytes = 8 << 10
)
