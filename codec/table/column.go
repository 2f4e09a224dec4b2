package table

import (
	"strconv"

	"sluice/codec/json"
)

// A column is one column of a kind. A hidden column has cells but no definition.
type column struct {
	name, typ, format, doc string

	priority int32
	hidden   bool
	cell     cell
}

// text returns a column of type string.
func text(name, doc string, c cell) column {
	return column{name: name, typ: "string", doc: doc, cell: c}
}

// integer returns a column of type integer.
func integer(name, doc string, c cell) column {
	return column{name: name, typ: "integer", doc: doc, cell: c}
}

// boolean returns a column of type boolean.
func boolean(name, doc string, c cell) column {
	return column{name: name, typ: "boolean", doc: doc, cell: c}
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
	nameColumn = named(text("Name", metaDoc["name"], nameCell))
	ageColumn  = text("Age", metaDoc["creationTimestamp"], ageCell)
)

// appendDefinition appends the column's TableColumnDefinition.
func (c *column) appendDefinition(dst []byte) []byte {
	dst = json.AppendString(append(dst, `{"name":`...), c.name)
	dst = json.AppendString(append(dst, `,"type":`...), c.typ)
	dst = json.AppendString(append(dst, `,"format":`...), c.format)
	dst = json.AppendString(append(dst, `,"description":`...), c.doc)
	dst = strconv.AppendInt(append(dst, `,"priority":`...), int64(c.priority), 10)
	return append(dst, '}')
}
