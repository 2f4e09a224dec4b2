package framing

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/internal/scratch"
	"sluice/codec/json"
)

// PrettyJSON is indented JSON, which ends without a newline. Events are not indented: the apiserver never
// gives pretty watches.
type PrettyJSON struct{ JSON }

// itemDepth is the level at which the items of a list are indented.
const itemDepth = 2

// AppendObject appends the response to a get.
func (p *PrettyJSON) AppendObject(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return scratch.Through(dst, func(b []byte) ([]byte, error) { return e.AppendObject(b, src, true) }, indented(0))
}

// AppendItem appends an item of a list.
func (p *PrettyJSON) AppendItem(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return scratch.Through(dst, func(b []byte) ([]byte, error) { return e.AppendItem(b, src) }, indented(itemDepth))
}

// indented returns a function that indents an object at a level.
func indented(depth int) func(dst, src []byte) ([]byte, error) {
	return func(dst, src []byte) ([]byte, error) { return json.AppendBoundedIndent(dst, src, depth, nil) }
}

// AppendItems appends items of a compact list, with its separators between them. The places are those of
// json.AppendBoundedIndent.
func (p *PrettyJSON) AppendItems(dst, items []byte, places []int) ([]byte, error) {
	return json.AppendBoundedIndent(dst, items, itemDepth, places)
}

// Separator returns the separator of two items.
func (p *PrettyJSON) Separator() string { return ",\n    " }

// AppendListHead appends the beginning of a list of n items.
func (p *PrettyJSON) AppendListHead(dst []byte, meta *metav1.ListMeta, n, _ int) []byte {
	return json.AppendIndent(dst, p.List.appendJSONHead(nil, meta, n), 0)
}

// AppendListTail appends the end of a list of n items.
func (p *PrettyJSON) AppendListTail(dst []byte, meta *metav1.ListMeta, n int) []byte {
	depth := 1
	if n > 0 {
		depth = itemDepth
	}
	return json.AppendIndent(dst, p.List.appendJSONTail(nil, meta, n), depth)
}
