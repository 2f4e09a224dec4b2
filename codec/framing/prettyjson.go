package framing

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/internal/scratch"
	"sluice/codec/json"
)

// PrettyJSON is indented JSON, which ends without a newline. Events are not indented: the apiserver never
// gives pretty watches.
type PrettyJSON struct{ JSON }

// itemDepth is the level at which the items of a list are indented.
const itemDepth = 2

func (p *PrettyJSON) AppendObject(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return scratch.Through(dst, func(b []byte) ([]byte, error) { return e.AppendObject(b, src, true) }, indented(0))
}

func (p *PrettyJSON) AppendItem(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return scratch.Through(dst, func(b []byte) ([]byte, error) { return e.AppendItem(b, src) }, indented(itemDepth))
}

// indented returns a function that indents an object at a level.
func indented(depth int) func(dst, src []byte) ([]byte, error) {
	return func(dst, src []byte) ([]byte, error) { return json.AppendIndent(dst, src, depth) }
}

func (p *PrettyJSON) Separator() string { return ",\n    " }

func (p *PrettyJSON) AppendListHead(dst []byte, meta *metav1.ListMeta, n, _ int) []byte {
	head, _ := p.around(meta, n)
	return append(dst, head...)
}

func (p *PrettyJSON) AppendListTail(dst []byte, meta *metav1.ListMeta, n int) []byte {
	_, tail := p.around(meta, n)
	return append(dst, tail...)
}

// around returns the text before and after the items of a list of n items.
func (p *PrettyJSON) around(meta *metav1.ListMeta, n int) (head, tail []byte) {
	const items = `"\u0000"` // stands for all items; nothing after them is spelled so
	compact := p.List.appendJSONHead(nil, meta, n)
	if n > 0 {
		compact = append(compact, items...)
	}
	text, _ := json.AppendIndent(nil, p.List.appendJSONTail(compact, meta, n), 0) // well-formed, and flat
	if n == 0 {
		return text, nil
	}
	i := bytes.LastIndex(text, []byte(items))
	return text[:i], text[i+len(items):]
}
