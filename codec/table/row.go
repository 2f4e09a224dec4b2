package table

import (
	"sync"
	"time"

	"sluice/codec/json"
)

// A row is one object that is being printed: the members that columns read, found in one pass, and
// scratch space. Rows are pooled.
type row struct {
	now     time.Time
	ageless bool  // ages are left out, and their places kept in ages
	ages    []Age // of the caller
	err     error // the first error; the cells are then invalid
	left    int   // the cost that the row may still have; see spend
	older   bool  // cells are printed as by the releases before cellsSince

	object, meta, spec, status json.Value

	pod podState // see core_pod_status.go

	scratch []byte
	parts   [][]byte
}

var rows = sync.Pool{New: func() any { return new(row) }}

func openRow(obj json.Value, now time.Time) *row {
	r := rows.Get().(*row)
	r.now, r.object, r.left = now, obj, maxRow
	for key, v := range obj.Members {
		switch string(key) {
		case "metadata":
			r.meta = v
		case "spec":
			r.spec = v
		case "status":
			r.status = v
		}
	}
	return r
}

// close returns the row to the pool. It drops every reference to the object.
func (r *row) close() {
	clear(r.parts[:cap(r.parts)])
	*r = row{
		scratch: r.scratch[:0],
		parts:   r.parts[:0],
		pod:     podState{reason: r.pod.reason[:0], failure: r.pod.failure[:0]},
	}
	rows.Put(r)
}

// fail keeps the first error.
func (r *row) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// spend reports whether a row may cost n more bytes.
func (r *row) spend(n int) bool {
	if r.left -= n; r.left < 0 {
		r.fail(json.ErrSize)
	}
	return r.left >= 0
}

// at returns the value at a member path.
func (r *row) at(path []string) json.Value { return r.part(path[0]).Get(path[1:]...) }

// part returns a member of the object.
func (r *row) part(name string) json.Value {
	switch name {
	case "metadata":
		return r.meta
	case "spec":
		return r.spec
	case "status":
		return r.status
	}
	return r.object.Get(name)
}

func (r *row) name() json.Value    { return r.meta.Get("name") }
func (r *row) created() json.Value { return r.meta.Get("creationTimestamp") }

// terminating reports whether the object has a deletion timestamp.
func (r *row) terminating() bool { return isSet(r.meta.Get("deletionTimestamp")) }

// annotated reports whether an annotation has exactly this value.
func (r *row) annotated(key, value string) bool {
	return is(r.meta.Get("annotations", key), value)
}
