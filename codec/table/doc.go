// Package table prints objects as rows of a meta.k8s.io Table, cell for cell
// as the kube-apiserver does.
//
// [Columns] is how one kind is printed: [Builtin] has it for the kinds that
// are compiled into the apiserver, [Custom] makes it from a CRD's
// additionalPrinterColumns, and [Default] is the two columns that everything
// else gets. Columns write the definitions and the cells; the rows and the
// Table around them are composed by the caller.
//
// The columns of the built-in kinds are data, one file per API group: name,
// type, description, priority and a cell, the small function that appends
// one JSON value. Cells are put together from the few in cell.go. They read
// the object's JSON in the endpoint's version, while the apiserver prints
// from its internal types, so versions that spell a field differently have
// cells of their own, and an absent field prints as the internal type's zero.
//
// Invariants:
//
//   - An object must be well-formed JSON (codec/json's Valid). Fields of the
//     wrong type print as if they were absent; nothing panics.
//   - Columns must not be changed after they were made; they are safe for
//     concurrent use.
//   - A cell that the JSON does not determine is an error ([ErrUndetermined]),
//     never a guess: the caller then passes the request upstream.
//   - Nothing is allocated per row in the steady state, but for text that
//     must be unescaped first.
//
// Ages are taken relative to the time given to [Columns.AppendCells], so
// cells must not be kept.
package table
