package codec

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// appendListMeta appends the metadata object of a list. Typed lists have it in struct order with empty
// members left out. The lists of custom resources have it in sorted order, with continue printed
// even when empty and without shardInfo (wire.md 4.5).
func appendListMeta(dst []byte, m *metav1.ListMeta, style Style) []byte {
	var v any = m
	if style == Unstructured {
		members := map[string]any{"continue": m.Continue, "resourceVersion": m.ResourceVersion}
		if m.RemainingItemCount != nil {
			members["remainingItemCount"] = *m.RemainingItemCount
		}
		v = members
	}
	b, _ := json.Marshal(v) // strings and numbers cannot fail
	return append(dst, b...)
}
