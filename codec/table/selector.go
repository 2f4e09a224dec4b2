package table

import (
	stdjson "encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
)

// selectorCell prints a label selector in the form of nearly all kinds.
func selectorCell(path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte {
		return append(dst, metav1.FormatLabelSelector(readSelector(r.at(path)))...)
	})
}

// readSelector decodes a label selector. The apiserver checks its keys and values when it prints it, by code of apimachinery:
// objects written by older versions may contain invalid ones.
func readSelector(v json.Value) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	_ = stdjson.Unmarshal(v, s) // what is absent or has the wrong type stays empty
	return s
}
