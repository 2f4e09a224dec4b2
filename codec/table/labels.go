package table

import (
	stdjson "encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
)

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

// selectorCell prints a label selector in the form of nearly all kinds.
func selectorCell(path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte {
		return append(dst, metav1.FormatLabelSelector(readSelector(r.at(path)))...)
	})
}

// readSelector decodes a label selector. The apiserver checks its keys and values when it prints it, by
// code of apimachinery: objects written by older versions may contain invalid ones.
func readSelector(v json.Value) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	_ = stdjson.Unmarshal(v, s) // absent fields, and those of the wrong type, stay empty
	return s
}
