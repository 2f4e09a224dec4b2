// Package table prints objects as rows of a meta.k8s.io Table, cell for cell as the kube-apiserver
// does.
//
// [Columns] print the objects of one kind. [Builtin] has the columns of the kinds that are compiled
// into the apiserver, [Custom] compiles a CRD's additionalPrinterColumns, and [Default] returns the
// two columns of all other kinds. Columns write definitions, cells and row conditions; the caller
// composes the rows and the Table.
//
// The columns of the built-in kinds are data, in one file per API group (group_apps.go; the larger
// core kinds have files of their own): name, type, priority and a cell, a function that appends one
// JSON value. Nearly all kinds have a name first and an age before the wide columns (usual).
// Descriptions are those that the apiserver serves. Cells are composed of the functions in cell.go.
// They read the object's JSON in the version of the request, while the apiserver prints its internal
// types: a version that names a field differently has its own cells, and an absent field prints as
// the zero value of the internal type.
//
// Invariants:
//
//   - An object must be valid JSON (codec/json's Valid). A field of the wrong type prints as if it were
//     absent; nothing panics.
//   - Columns must not be modified after construction; they are safe for concurrent use.
//   - A cell that cannot be derived from the JSON is an error ([ErrUndetermined]), never a guess: the
//     caller then passes the request through.
//   - A row of a custom resource costs no more than a static limit (json.ErrSize), whatever the
//     author of a CRD has declared.
//   - Printing a row must not allocate in the steady state, ages, strings with escapes, label selectors and JSONPaths
//     beyond plain member paths aside.
//
// Cells contain ages relative to the time given to [Columns.AppendCells], so they must not be
// cached. [Columns.AppendAgeless] leaves the ages out: a [Text] can be cached, prints its cells at
// any time, and knows when they change.
package table
