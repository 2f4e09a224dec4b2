package table

import (
	"fmt"
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

// Custom returns the columns of a CRD's version: Name and then those it
// declares, or Age if it declares none. A path that it cannot evaluate
// exactly as the apiserver would is an [ErrPath].
func Custom(declared []PrinterColumn) (*Columns, error) {
	if len(declared) == 0 {
		declared = []PrinterColumn{{
			Name: "Age", Type: "date", Description: metaDoc["creationTimestamp"], JSONPath: ".metadata.creationTimestamp",
		}}
	}
	columns := append(make([]column, 0, len(declared)+1), nameColumn)
	for _, d := range declared {
		steps, err := parsePath(d.JSONPath)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", d.Name, err)
		}
		doc := d.Description
		if doc == "" {
			doc = "Custom resource definition column (in JSONPath format): " + d.JSONPath
		}
		columns = append(columns, column{
			name: d.Name, typ: d.Type, format: d.Format, doc: doc, priority: d.Priority,
			cell: customCell(d.Type, steps),
		})
	}
	return newColumns(columns...), nil
}

// customCell is the first value at a path, in the column's type; null if
// there is none or it is of another type.
func customCell(typ string, steps []step) cell {
	p, ok := customPrinters[typ]
	if !ok {
		p = printNothing
	}
	if names, ok := memberNames(steps); ok {
		return func(dst []byte, r *row) []byte {
			if v := r.at(names); v != nil {
				return p(dst, v, r)
			}
			return append(dst, "null"...)
		}
	}
	return func(dst []byte, r *row) []byte {
		if v, ok := r.firstAt(steps); ok {
			return p(dst, v, r)
		}
		return append(dst, "null"...)
	}
}

var customPrinters = map[string]func(dst []byte, v json.Value, r *row) []byte{
	"string":  printText,
	"integer": printInteger,
	"number":  printNumber,
	"boolean": printBoolean,
	"date":    printDate,
}

func printNothing(dst []byte, _ json.Value, _ *row) []byte { return append(dst, "null"...) }

// printText shows any value as text: objects and arrays as JSON, and null
// as no value.
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

// printInteger cuts fractions off.
func printInteger(dst []byte, v json.Value, r *row) []byte {
	if _, ok := v.Int(); ok {
		return append(dst, v...)
	}
	f, ok := v.Float()
	if !ok {
		return printNothing(dst, v, r)
	}
	return fmt.Append(dst, int64(f))
}

func printNumber(dst []byte, v json.Value, r *row) []byte {
	f, ok := v.Float()
	if !ok {
		return printNothing(dst, v, r)
	}
	return appendFloat(dst, f)
}

func printBoolean(dst []byte, v json.Value, r *row) []byte {
	if v.Kind() != json.Bool {
		return printNothing(dst, v, r)
	}
	return append(dst, v...)
}

// printDate shows how long ago a time was.
func printDate(dst []byte, v json.Value, r *row) []byte {
	text, ok := v.Bytes()
	if !ok {
		return printNothing(dst, v, r)
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
		dst = appendAge(dst, t, r.now)
	}
	return r.quote(dst, start)
}
