package table

import "time"

// Default returns the columns of kinds that nobody wrote columns for: Name
// and Created At.
func Default() *Columns { return defaultColumns }

var defaultColumns = newColumns(
	nameColumn,
	column{name: "Created At", typ: "date", doc: metaDoc["creationTimestamp"], cell: createdCell},
)

// createdCell is when the object was made; the year 1 if that is unknown.
var createdCell = quoted(func(dst []byte, r *row) []byte {
	return timeOf(r.created).UTC().AppendFormat(dst, time.RFC3339)
})
