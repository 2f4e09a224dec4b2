package framing

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// appendListMeta appends the metadata of a list as JSON. Typed lists have it in struct order with empty
// members left out. Unstructured lists have it in sorted order, with continue even when empty, and
// without shardInfo (wire.md 4.5).
func (l *List) appendListMeta(dst []byte, m *metav1.ListMeta) []byte {
	var v any = m
	if l.Unstructured {
		members := map[string]any{"continue": m.Continue, "resourceVersion": m.ResourceVersion}
		if m.RemainingItemCount != nil {
			members["remainingItemCount"] = *m.RemainingItemCount
		}
		v = members
	}
	b, _ := json.Marshal(v) // strings and numbers cannot fail
	return append(dst, b...)
}
