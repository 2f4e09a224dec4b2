package table

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
)

// A column is one column of a kind. A hidden column has cells but no definition.
type column struct {
	name, typ, format string

	doc  string // the description; the apiserver's replaces it
	path string // the JSONPath of a column that a CRD declares, else empty

	priority int32
	hidden   bool
	cell     cell
}

// text returns a column of type string.
func text(name string, c cell) column {
	return column{name: name, typ: "string", cell: c}
}

// integer returns a column of type integer.
func integer(name string, c cell) column {
	return column{name: name, typ: "integer", cell: c}
}

// boolean returns a column of type boolean.
func boolean(name string, c cell) column {
	return column{name: name, typ: "boolean", cell: c}
}

// wide sets priority 1: kubectl shows the column with -o wide only.
func wide(c column) column {
	c.priority = 1
	return c
}

// named sets the format "name".
func named(c column) column {
	c.format = "name"
	return c
}

// hidden removes the definition of a column and keeps its cells.
func hidden(c column) column {
	c.hidden = true
	return c
}

// The columns of nearly every kind.
var (
	nameColumn = named(text("Name", nameCell))
	ageColumn  = text("Age", ageCell)
)

// describedAs returns the column with the description that the apiserver prints; ok is false if a CRD
// describes the column otherwise. The apiserver may lag behind the CRD, or be of a release that has other
// words.
func (c column) describedAs(doc string) (_ column, ok bool) {
	switch {
	case c.path == "":
		ok = true
	case c.doc != "":
		ok = doc == c.doc
	default:
		ok = strings.HasSuffix(doc, c.path)
	}
	c.doc = doc
	return c, ok
}

// documented returns the column with the description of a field of ObjectMeta, for Tables that no apiserver prints.
func (c column) documented(field string) column {
	c.doc = metav1.ObjectMeta{}.SwaggerDoc()[field]
	return c
}

// appendDefinition appends the column's TableColumnDefinition.
func (c *column) appendDefinition(dst []byte) []byte {
	dst = json.AppendString(append(dst, `{"name":`...), c.name)
	dst = json.AppendString(append(dst, `,"type":`...), c.typ)
	dst = json.AppendString(append(dst, `,"format":`...), c.format)
	dst = json.AppendString(append(dst, `,"description":`...), c.doc)
	dst = strconv.AppendInt(append(dst, `,"priority":`...), int64(c.priority), 10)
	return append(dst, '}')
}
