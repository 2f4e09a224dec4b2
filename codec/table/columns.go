package table

import (
	"bytes"
	"slices"
	"time"

	"sluice/codec/json"
)

// Columns are the columns of one kind: they print Table definitions, cells and row conditions.
type Columns struct {
	columns     []column
	definitions []byte
	rules
	older bool // cells are printed as before cellsSince
}

// rules are the exceptions of few kinds.
type rules struct {
	conditions func(dst []byte, r *row) []byte // nil if rows have none
	sorted     bool
	repeats    bool
	nullRows   bool
	cellsSince int // the release, such as 36, that first printed the cells so in the same columns; 0 for all known ones
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

// usual returns the columns of most kinds: the name before all, and the age before the wide ones.
func usual(columns ...column) *Columns {
	age := slices.IndexFunc(columns, func(c column) bool { return c.priority > 0 })
	if age < 0 {
		age = len(columns)
	}
	return newColumns(slices.Concat([]column{nameColumn}, columns[:age], []column{ageColumn}, columns[age:])...)
}

// with sets the rules of the kind.
func (c *Columns) with(r rules) *Columns {
	c.rules = r
	return c
}

// As returns the columns with the descriptions of definitions, the columnDefinitions of a Table of the
// apiserver; ok is false if the apiserver's columns differ in anything else.
func (c *Columns) As(definitions json.Value) (_ *Columns, ok bool) {
	columns, i := slices.Clone(c.columns), 0
	for _, d := range definitions.Elements {
		for i < len(columns) && columns[i].hidden {
			i++
		}
		if i == len(columns) {
			return nil, false
		}
		doc, _ := d.Get("description").Text()
		if columns[i], ok = columns[i].describedAs(doc); !ok {
			return nil, false
		}
		i++
	}
	as := newColumns(columns...).with(c.rules)
	return as, bytes.Equal(as.definitions, definitions)
}

// AppendDefinitions appends the JSON array of a Table's columnDefinitions.
func (c *Columns) AppendDefinitions(dst []byte) []byte {
	return append(dst, c.definitions...)
}

// AppendCells appends the JSON array of a row's cells for obj, with ages relative to now. On error
// dst is returned unchanged. Errors: ErrUndetermined, ErrUnprintable, json.ErrSize.
func (c *Columns) AppendCells(dst []byte, obj json.Value, now time.Time) ([]byte, error) {
	r := openRow(obj, now)
	defer r.close()
	return c.appendCells(dst, obj, r)
}

// AppendAgeless is AppendCells without the texts that depend on the time. It appends their places,
// as offsets in dst, to ages. On error both are returned unchanged.
func (c *Columns) AppendAgeless(dst []byte, obj json.Value, ages []Age) ([]byte, []Age, error) {
	r := openRow(obj, time.Time{})
	defer r.close()
	r.ageless, r.ages = true, ages
	dst, err := c.appendCells(dst, obj, r)
	if err != nil {
		return dst, ages, err
	}
	return dst, r.ages, nil
}

func (c *Columns) appendCells(dst []byte, obj json.Value, r *row) ([]byte, error) {
	start := len(dst)
	r.older = c.older
	dst = append(dst, '[')
	for i := range c.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.columns[i].cell(dst, r)
	}
	if r.err == nil && bytes.Contains(dst[start:], replacement) && bytes.Contains(obj, escapedReplacement) {
		r.err = ErrUndetermined
	}
	if r.err != nil {
		return dst[:start], r.err
	}
	return append(dst, ']'), nil
}

// Bytes that are not UTF-8 are escaped replacement characters in JSON, while a replacement character
// prints as itself. The texts of cells no longer tell one from the other.
var (
	replacement        = []byte("\ufffd")
	escapedReplacement = []byte(`\ufffd`)
)

// AppendConditions appends the JSON array of a row's conditions, which belongs between the row's
// cells and its object. It appends nothing if the row has no conditions, as nearly all rows: the
// member is then omitted.
func (c *Columns) AppendConditions(dst []byte, obj json.Value) []byte {
	if c.conditions == nil {
		return dst
	}
	r := openRow(obj, time.Time{})
	defer r.close()
	return c.conditions(dst, r)
}

// Sorted reports whether the rows of a list are not in the order of its objects. The order is not
// implemented here: such Tables are left to the apiserver.
func (c *Columns) Sorted() bool { return c.sorted }

// RepeatsDefinitions reports whether every event of a watch carries the column definitions, not
// only the first one.
func (c *Columns) RepeatsDefinitions() bool { return c.repeats }

// NullWhenEmpty reports whether the rows of an empty list are null instead of [].
func (c *Columns) NullWhenEmpty() bool { return c.nullRows }
