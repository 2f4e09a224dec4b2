package codec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
)

// collection is what surrounds the items of a list, whatever its encoding.
type collection struct {
	apiVersion, kind string
	style            Style   // of the list itself: PartialObjectMetadataLists and Tables are typed
	columns          Columns // for Tables
	nullWhenEmpty    bool    // "items":null (wire.md 1.5)
}

func newCollection(r *Resource, f Format) collection {
	switch f.Shape {
	case Table:
		columns, _ := columnsOf(r)
		return collection{apiVersion: f.MetaVersion.String(), kind: "Table", columns: columns}
	case Metadata:
		return collection{apiVersion: f.MetaVersion.String(), kind: "PartialObjectMetadataList", nullWhenEmpty: true}
	}
	return collection{apiVersion: r.APIVersion(), kind: r.ListKind, style: r.Style}
}

// member is the name of the member that holds the items.
func (c *collection) member() string {
	if c.columns != nil {
		return "rows"
	}
	return "items"
}

// empty is that member's value when there are none.
func (c *collection) empty() string {
	if c.nullWhenEmpty {
		return "null"
	}
	return "[]"
}

// appendJSONHead appends compact JSON up to the first item, for an empty list up to and with the items.
func (c *collection) appendJSONHead(dst []byte, meta *metav1.ListMeta, n int) []byte {
	if c.style == Unstructured {
		dst = append(dst, `{"apiVersion":`...)
		dst = json.AppendString(dst, c.apiVersion)
	} else {
		dst = appendTypeMeta(dst, c.kind, c.apiVersion)
		dst = append(dst, `,"metadata":`...)
		dst = appendListMeta(dst, meta, c.style)
		dst = c.appendDefinitions(dst)
	}
	dst = append(dst, `,"`...)
	dst = append(dst, c.member()...)
	dst = append(dst, `":`...)
	if n == 0 {
		return append(dst, c.empty()...)
	}
	return append(dst, '[')
}

func (c *collection) appendDefinitions(dst []byte) []byte {
	if c.columns == nil {
		return dst
	}
	return c.columns.AppendDefinitions(append(dst, `,"columnDefinitions":`...))
}

// appendJSONTail appends what follows the last item, without the newline.
func (c *collection) appendJSONTail(dst []byte, meta *metav1.ListMeta, n int) []byte {
	if n > 0 {
		dst = append(dst, ']')
	}
	if c.style == Unstructured {
		dst = append(dst, `,"kind":`...)
		dst = json.AppendString(dst, c.kind)
		dst = append(dst, `,"metadata":`...)
		dst = appendListMeta(dst, meta, c.style)
	}
	return append(dst, '}')
}
