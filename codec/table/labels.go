package table

import "sluice/codec/json"

// none is printed for an empty or absent value.
const none = "<none>"

// labelsCell prints a map of labels as "key=value" pairs, separated by commas.
func labelsCell(path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return r.appendLabels(dst, r.at(path)) })
}

// appendLabels appends the pairs of a map, sorted as whole pairs and not by key:
// "app.kubernetes.io/name=x" comes before "app=x".
func (r *row) appendLabels(dst []byte, labels json.Value) []byte {
	r.parts = r.parts[:0]
	arena := r.scratch[:0]
	for key, v := range labels.Members {
		start := len(arena)
		arena = append(append(arena, key...), '=')
		arena = appendScalar(arena, v)
		r.parts = append(r.parts, arena[start:len(arena):len(arena)])
	}
	r.scratch = arena[:0]
	if len(r.parts) == 0 {
		return append(dst, none...)
	}
	return appendSorted(dst, r.parts)
}
