package table

import (
	"time"

	"sluice/codec/json"
)

// Columns is how the objects of one kind are printed.
type Columns struct {
	columns     []column
	definitions []byte
	conditions  func(dst []byte, r *row) []byte // nil: rows have none
	compare     func(a, b json.Value) int       // nil: rows stand as the objects do
	repeats     bool
}

func newColumns(columns ...column) *Columns {
	c := &Columns{columns: columns, definitions: []byte{'['}}
	for i := range columns {
		if columns[i].hidden {
			continue
		}
		if len(c.definitions) > 1 {
			c.definitions = append(c.definitions, ',')
		}
		c.definitions = columns[i].appendDefinition(c.definitions)
	}
	c.definitions = append(c.definitions, ']')
	return c
}

// AppendDefinitions appends the JSON array of a Table's columnDefinitions.
func (c *Columns) AppendDefinitions(dst []byte) []byte {
	return append(dst, c.definitions...)
}

// AppendCells appends the JSON array of obj's cells, with ages as of now. On
// an error dst is as long as it was.
func (c *Columns) AppendCells(dst []byte, obj json.Value, now time.Time) ([]byte, error) {
	r := openRow(obj, now)
	defer r.close()
	start := len(dst)
	dst = append(dst, '[')
	for i := range c.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.columns[i].cell(dst, r)
	}
	if r.err != nil {
		return dst[:start], r.err
	}
	return append(dst, ']'), nil
}

// AppendConditions appends the JSON array of a row's conditions. It appends
// nothing when the row has none: then the member is left out, as nearly all
// rows leave it out. It stands between a row's cells and its object.
func (c *Columns) AppendConditions(dst []byte, obj json.Value) []byte {
	if c.conditions == nil {
		return dst
	}
	r := openRow(obj, time.Time{})
	defer r.close()
	return c.conditions(dst, r)
}

// Sorted reports whether the rows of a list are not in the order of its
// objects but in that of [Columns.Compare].
func (c *Columns) Sorted() bool { return c.compare != nil }

// Compare orders two objects as their rows stand in the Table of a list. It
// is 0 for all unless the columns are Sorted.
func (c *Columns) Compare(a, b json.Value) int {
	if c.compare == nil {
		return 0
	}
	return c.compare(a, b)
}

// Repeats reports whether every event of a watch carries the definitions,
// not only the first one.
func (c *Columns) Repeats() bool { return c.repeats }
