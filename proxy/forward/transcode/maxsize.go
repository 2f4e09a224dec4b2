package transcode

import (
	"sluice/codec"
	"sluice/codec/json"
)

const (
	// yamlWidth is the column from which YAML strings are folded.
	yamlWidth = 80
	// rowBytes bounds the bytes that a format adds around the metadata of one object, indented.
	rowBytes = 1 << 10
	// rowDepth is the depth of an object in a Table, in levels.
	rowDepth = 6
	// columnBytes bounds the column definitions of a Table.
	columnBytes = 8 << 10
)

// maxSize returns an upper bound of the size of a response in the format, in bytes.
func (t *target) maxSize(object json.Value, f codec.Format) int64 {
	if t.keepsShape(object, f) {
		return maxSize(object, f, 0)
	}
	kind, version := object.Get("kind"), object.Get("apiVersion")
	typeMeta := rowBytes + maxSize(kind, f, 0) + maxSize(version, f, 0)
	row := func(v json.Value) int64 {
		n := typeMeta + 2*maxSize(v.Get("metadata"), f, rowDepth) // cells of a Table repeat some of it
		if f.Shape == codec.Table && f.Include == codec.IncludeObject {
			n += maxSize(v, f, rowDepth)
		}
		return n
	}
	n := columnBytes + typeMeta + row(object)
	for _, v := range object.Get("items").Elements {
		n += row(v)
	}
	return n
}

// maxSize returns an upper bound of the size of a JSON value in another format, at a depth in
// levels. An indented line grows with its depth, and YAML folds strings at escapes, and at spaces
// beyond yamlWidth.
func maxSize(src []byte, f codec.Format, depth int) int64 {
	yaml := f.Encoding == codec.YAML
	line := 0   // bytes of a line break at this depth
	column := 0 // upper bound of the column in YAML
	n, inString, escape := 0, false, false
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
		case c >= 0x7f: // becomes an escape or a replacement character
			n += 3
			column += 4
			escape = false
		case inString:
			column++
			escaped := escape
			escape = c == '\\' && !escaped
			switch {
			case c == '"' && !escaped:
				inString = false
			case yaml && (escaped || escape || c == ' ' && column > yamlWidth-2*depth):
				n += 2 + line
				column = 0
			case yaml && c == '\'':
				n++
			}
		case c == '"':
			inString, column = true, yamlWidth
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
