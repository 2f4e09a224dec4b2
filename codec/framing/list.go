package framing

import (
	stdjson "encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
)

// List is the metadata around the items of a list, in any encoding.
type List struct {
	APIVersion, Kind string
	// Unstructured is true for the lists of custom resources, whose members are sorted (wire.md 4.5).
	Unstructured bool
	// NullWhenEmpty gives an empty list items or rows of null instead of [] (wire.md 1.5).
	NullWhenEmpty bool
	// ColumnDefinitions is the JSON array of a Table's columnDefinitions; nil for other lists.
	ColumnDefinitions []byte
}

// member returns the name of the member that holds the items.
func (l *List) member() string {
	if l.ColumnDefinitions != nil {
		return "rows"
	}
	return "items"
}

// empty returns the value of that member in an empty list.
func (l *List) empty() string {
	if l.NullWhenEmpty {
		return "null"
	}
	return "[]"
}

// appendJSONHead appends compact JSON up to the first item; for an empty list up to the end of its items.
func (l *List) appendJSONHead(dst []byte, meta *metav1.ListMeta, n int) []byte {
	if l.Unstructured {
		dst = append(dst, `{"apiVersion":`...)
		dst = json.AppendString(dst, l.APIVersion)
	} else {
		dst = json.AppendTypeMeta(dst, l.APIVersion, l.Kind)
		dst = append(dst, `,"metadata":`...)
		dst = l.appendListMeta(dst, meta)
	}
	if l.ColumnDefinitions != nil {
		dst = append(append(dst, `,"columnDefinitions":`...), l.ColumnDefinitions...)
	}
	dst = append(dst, `,"`...)
	dst = append(dst, l.member()...)
	dst = append(dst, `":`...)
	if n == 0 {
		return append(dst, l.empty()...)
	}
	return append(dst, '[')
}

// appendJSONTail appends the end of a list, without a newline.
func (l *List) appendJSONTail(dst []byte, meta *metav1.ListMeta, n int) []byte {
	if n > 0 {
		dst = append(dst, ']')
	}
	if l.Unstructured {
		dst = append(dst, `,"kind":`...)
		dst = json.AppendString(dst, l.Kind)
		dst = append(dst, `,"metadata":`...)
		dst = l.appendListMeta(dst, meta)
	}
	return append(dst, '}')
}

// appendListMeta appends the metadata of a list as JSON. Typed lists have it in struct order with empty
// members left out. Unstructured lists have it in sorted order, with continue even when empty (wire.md 4.5).
func (l *List) appendListMeta(dst []byte, m *metav1.ListMeta) []byte {
	var v any = m
	if l.Unstructured {
		members := map[string]any{"continue": m.Continue, "resourceVersion": m.ResourceVersion}
		if m.RemainingItemCount != nil {
			members["remainingItemCount"] = *m.RemainingItemCount
		}
		if m.ShardInfo != nil {
			members["shardInfo"] = m.ShardInfo
		}
		v = members
	}
	b, _ := stdjson.Marshal(v) // strings and numbers cannot fail
	return append(dst, b...)
}
