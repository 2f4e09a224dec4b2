package table

import (
	"fmt"
	"strconv"
	"time"

	"sluice/codec/json"
)

// PrinterColumn is one of a CRD version's additionalPrinterColumns.
type PrinterColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int32  `json:"priority,omitempty"`
	JSONPath    string `json:"jsonPath"`
}

// Custom returns the columns of a CRD version: Name, then the declared columns, or Age if none are
// declared. Columns that the CRD does not describe have no description yet, see As. Error: ErrPath, for a
// JSONPath that is not evaluated here.
func Custom(declared []PrinterColumn) (*Columns, error) {
	implied := len(declared) == 0
	if implied {
		declared = []PrinterColumn{{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"}}
	}
	if len(declared) > maxColumns {
		return nil, fmt.Errorf("%d columns: %w", len(declared), ErrPath)
	}
	columns := append(make([]column, 0, len(declared)+1), nameColumn)
	for _, d := range declared {
		path, err := compilePath(d.JSONPath)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", d.Name, err)
		}
		c := column{name: d.Name, typ: d.Type, format: d.Format, doc: d.Description, priority: d.Priority, cell: customCell(d.Type, path)}
		if !implied {
			c.path = d.JSONPath
		}
		columns = append(columns, c)
	}
	return newColumns(columns...), nil
}

// customCell returns the cell with the first value at a path in the column's type, or null if there
// is no value or it has another type.
func customCell(typ string, path *columnPath) cell {
	p, ok := customPrinters[typ]
	if !ok {
		p = printNull
	}
	return func(dst []byte, r *row) []byte {
		v, ok := path.first(r)
		if !ok || !r.spend(len(v)) {
			return append(dst, "null"...)
		}
		return p(dst, v, r)
	}
}

var customPrinters = map[string]func(dst []byte, v json.Value, r *row) []byte{
	"string":  printText,
	"integer": printInteger,
	"number":  printNumber,
	"boolean": printBoolean,
	"date":    printDate,
}

func printNull(dst []byte, _ json.Value, _ *row) []byte { return append(dst, "null"...) }

// printText prints any value as text: objects and arrays as JSON, null as "<no value>".
func printText(dst []byte, v json.Value, r *row) []byte {
	start := len(dst)
	dst = append(dst, '"')
	switch v.Kind() {
	case json.String:
		dst = appendScalar(dst, v)
	case json.Number:
		dst = appendGoNumber(dst, v)
	case json.Null:
		dst = append(dst, "<no value>"...)
	default:
		dst = append(dst, v...)
	}
	return r.quote(dst, start)
}

// printInteger truncates floats.
func printInteger(dst []byte, v json.Value, r *row) []byte {
	if n, ok := v.Int(); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	f, ok := v.Float()
	if !ok {
		return printNull(dst, v, r)
	}
	return strconv.AppendInt(dst, int64(f), 10)
}

// printNumber prints -0 as a float: the apiserver writes no integer so.
func printNumber(dst []byte, v json.Value, r *row) []byte {
	f, ok := v.Float()
	if !ok {
		return printNull(dst, v, r)
	}
	return json.AppendFloat(dst, f)
}

func printBoolean(dst []byte, v json.Value, r *row) []byte {
	if v.Kind() != json.Bool {
		return printNull(dst, v, r)
	}
	return append(dst, v...)
}

// printDate prints the age of a time.
func printDate(dst []byte, v json.Value, r *row) []byte {
	text, ok := v.Bytes()
	if !ok {
		return printNull(dst, v, r)
	}
	start := len(dst)
	dst = append(dst, '"')
	t, err := time.Parse(time.RFC3339, string(text))
	switch {
	case len(text) == 0 || string(text) == "null":
		dst = append(dst, unknown...)
	case err != nil:
		dst = append(dst, "<invalid>"...)
	default:
		dst = r.appendAge(dst, t)
	}
	return r.quote(dst, start)
}

// appendGoNumber appends a number as Go's fmt prints it: int64, or float64 with the fewest digits. -0 is a float.
func appendGoNumber(dst []byte, v json.Value) []byte {
	_, integer := v.Int()
	f, ok := v.Float()
	if integer || !ok {
		return append(dst, v...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}
