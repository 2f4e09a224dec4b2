package table

import (
	"strconv"

	"sluice/codec/json"
)

var poolStatusRequest = newColumns(
	nameColumn,
	text("Driver", str("spec", "driver")),
	text("Total", poolDevices("totalDevices")),
	text("Available", poolDevices("availableDevices")),
	text("Allocated", poolDevices("allocatedDevices")),
	text("Unavailable", poolDevices("unavailableDevices")),
	text("Errors", quoted(poolErrors)),
	integer("Pools", num("status", "poolCount")),
	text("Status", quoted(poolState)),
	text("Completed", quoted(poolCompleted)),
)

// poolResult returns the first condition that ends a request, or nil while it is pending, and
// whether that condition is Complete.
func poolResult(r *row) (c json.Value, complete bool) {
	for _, c := range r.status.Get("conditions").Elements {
		if typ := c.Get("type"); is(c.Get("status"), "True") && (is(typ, "Complete") || is(typ, "Failed")) {
			return c, is(typ, "Complete")
		}
	}
	return nil, false
}

// counted reports whether the status has numbers to print.
func counted(r *row) bool {
	c, complete := poolResult(r)
	return present(r.status) && (c == nil || complete)
}

// poolDevices prints the sum of a field over all pools, in 32 bits as the apiserver adds.
func poolDevices(field string) cell {
	return quoted(func(dst []byte, r *row) []byte {
		if !counted(r) {
			return append(dst, '-')
		}
		var sum int32
		for _, p := range r.status.Get("pools").Elements {
			sum += int32(intOf(p.Get(field)))
		}
		return strconv.AppendInt(dst, int64(sum), 10)
	})
}

func poolErrors(dst []byte, r *row) []byte {
	if !counted(r) {
		return append(dst, '-')
	}
	n := 0
	for _, p := range r.status.Get("pools").Elements {
		if present(p.Get("validationError")) {
			n++
		}
	}
	return strconv.AppendInt(dst, int64(n), 10)
}

// poolState prints the state, and how many pools a complete status lists if it does not list all.
func poolState(dst []byte, r *row) []byte {
	c, complete := poolResult(r)
	switch {
	case c == nil:
		return append(dst, "Pending"...)
	case !complete:
		return append(dst, "Failed"...)
	}
	dst = append(dst, "Complete"...)
	listed, all := r.status.Get("pools").Len(), intOf(r.status.Get("poolCount"))
	if all <= int64(listed) {
		return dst
	}
	dst = strconv.AppendInt(append(dst, " ("...), int64(listed), 10)
	dst = strconv.AppendInt(append(dst, '/'), all, 10)
	return append(dst, " pools)"...)
}

func poolCompleted(dst []byte, r *row) []byte {
	c, complete := poolResult(r)
	if !complete {
		return append(dst, none...)
	}
	return r.appendSince(dst, c.Get("lastTransitionTime"))
}
