package table

import (
	"bytes"
	"slices"
)

var resourceQuota = usual(text("Request", quoted(quotas(false))), text("Limit", quoted(quotas(true))))

var limitPrefix = []byte("limits.")

// quotas prints "resource: used/hard" for the resources whose names begin with "limits.", or for
// all others.
func quotas(limits bool) printer {
	return func(dst []byte, r *row) []byte {
		hard, used := r.status.Get("hard"), r.status.Get("used")
		r.parts = r.parts[:0]
		for name := range hard.Members {
			if bytes.HasPrefix(name, limitPrefix) == limits {
				r.parts = append(r.parts, name)
			}
		}
		slices.SortFunc(r.parts, bytes.Compare)
		for i, name := range r.parts {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(append(dst, name...), ": "...)
			dst = append(appendQuantity(dst, used.Get(string(name))), '/')
			dst = appendQuantity(dst, hard.Get(string(name)))
		}
		return dst
	}
}
