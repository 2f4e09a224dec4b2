package framing

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/internal/scratch"
	"sluice/codec/json"
	"sluice/codec/yaml"
)

// ErrNoStream is returned for events in YAML, which the apiserver does not stream (wire.md 1.4).
var ErrNoStream = errors.New("no watch streams in YAML")

// YAML has sorted members, so that the items of a list are in its middle and the rows of a Table at its
// end. Its ObjectEncoder must give JSON.
type YAML struct{ List List }

// AppendObject appends the response to a get.
func (y *YAML) AppendObject(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return scratch.Through(dst, func(b []byte) ([]byte, error) { return e.AppendObject(b, src, true) }, yaml.AppendFromJSON)
}

// AppendItem appends an item of a list.
func (y *YAML) AppendItem(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return scratch.Through(dst, func(b []byte) ([]byte, error) { return e.AppendItem(b, src) }, yaml.AppendItem)
}

// Separator returns what separates two items: nothing, for an item ends its line.
func (y *YAML) Separator() string { return "" }

// AppendListHead appends what precedes the first of n items.
func (y *YAML) AppendListHead(dst []byte, meta *metav1.ListMeta, n, _ int) []byte {
	dst = appendText(dst, "apiVersion", y.List.APIVersion)
	if y.List.ColumnDefinitions != nil {
		dst = appendMember(dst, "columnDefinitions", y.List.ColumnDefinitions)
		dst = y.appendKindAndMetadata(dst, meta)
	}
	if n == 0 {
		return appendMember(dst, y.List.member(), []byte(y.List.empty()))
	}
	return append(append(dst, y.List.member()...), ":\n"...)
}

// AppendListTail appends what follows the last of n items.
func (y *YAML) AppendListTail(dst []byte, meta *metav1.ListMeta, _ int) []byte {
	if y.List.ColumnDefinitions != nil {
		return dst
	}
	return y.appendKindAndMetadata(dst, meta)
}

// appendKindAndMetadata appends the members between items and rows.
func (y *YAML) appendKindAndMetadata(dst []byte, meta *metav1.ListMeta) []byte {
	dst = appendText(dst, "kind", y.List.Kind)
	return appendMember(dst, "metadata", y.List.appendListMeta(nil, meta))
}

// AppendEvent returns ErrNoStream.
func (y *YAML) AppendEvent(dst []byte, _ string, _ []byte, _ ObjectEncoder, _ bool) ([]byte, error) {
	return dst, ErrNoStream
}

// AppendErrorEvent appends nothing.
func (y *YAML) AppendErrorEvent(dst []byte, _ *metav1.Status) []byte { return dst }

// appendMember appends a member whose value is well-formed JSON, so that it cannot fail.
func appendMember(dst []byte, name string, value []byte) []byte {
	dst, _ = yaml.AppendMember(dst, name, value)
	return dst
}

func appendText(dst []byte, name, text string) []byte {
	return appendMember(dst, name, json.AppendString(nil, text))
}
