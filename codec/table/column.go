package table

import (
	"strconv"

	"sluice/codec/json"
)

// column is one column of a kind. A hidden one has cells and no definition.
type column struct {
	name, typ, format, doc string

	priority int32
	hidden   bool
	cell     cell
}

// text is a column of type string.
func text(name, doc string, c cell) column {
	return column{name: name, typ: "string", doc: doc, cell: c}
}

// integer is a column of type integer.
func integer(name, doc string, c cell) column {
	return column{name: name, typ: "integer", doc: doc, cell: c}
}

// boolean is a column of type boolean.
func boolean(name, doc string, c cell) column {
	return column{name: name, typ: "boolean", doc: doc, cell: c}
}

// wide makes a column one that kubectl shows with -o wide only.
func wide(c column) column {
	c.priority = 1
	return c
}

// named gives a column the format "name".
func named(c column) column {
	c.format = "name"
	return c
}

// hidden keeps a column's cells and drops its definition.
func hidden(c column) column {
	c.hidden = true
	return c
}

// The columns that nearly every kind has.
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
