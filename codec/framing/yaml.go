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
type YAML struct {
	list    List
	columns []byte // the member of the column definitions
}

// NewYAML returns the framing of a list. Error: json.ErrSize for column definitions that cost too much to print.
func NewYAML(list List) (y *YAML, err error) {
	y = &YAML{list: list}
	if list.ColumnDefinitions != nil {
		y.columns, err = yaml.AppendMember(nil, "columnDefinitions", list.ColumnDefinitions)
	}
	return y, err
}

func (y *YAML) AppendObject(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return scratch.Through(dst, func(b []byte) ([]byte, error) { return e.AppendObject(b, src, true) }, yaml.AppendFromJSON)
}

func (y *YAML) AppendItem(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return scratch.Through(dst, func(b []byte) ([]byte, error) { return e.AppendItem(b, src) }, yaml.AppendItem)
}

func (y *YAML) Separator() string { return "" }

func (y *YAML) AppendListHead(dst []byte, meta *metav1.ListMeta, n, _ int) []byte {
	dst = appendText(dst, "apiVersion", y.list.APIVersion)
	if y.list.ColumnDefinitions != nil {
		dst = append(dst, y.columns...)
		dst = y.appendKindAndMetadata(dst, meta)
	}
	if n == 0 {
		return appendMember(dst, y.list.member(), []byte(y.list.empty()))
	}
	return append(append(dst, y.list.member()...), ":\n"...)
}

func (y *YAML) AppendListTail(dst []byte, meta *metav1.ListMeta, _ int) []byte {
	if y.list.ColumnDefinitions != nil {
		return dst
	}
	return y.appendKindAndMetadata(dst, meta)
}

// appendKindAndMetadata appends the members between items and rows.
func (y *YAML) appendKindAndMetadata(dst []byte, meta *metav1.ListMeta) []byte {
	dst = appendText(dst, "kind", y.list.Kind)
	return appendMember(dst, "metadata", y.list.appendListMeta(nil, meta))
}

func (y *YAML) AppendEvent(dst []byte, _ string, _ []byte, _ ObjectEncoder, _ bool) ([]byte, error) {
	return dst, ErrNoStream
}

func (y *YAML) AppendErrorEvent(dst []byte, _ *metav1.Status) []byte { return dst }

// appendMember appends a member whose value is short JSON of the apiserver's own, so that it cannot fail.
func appendMember(dst []byte, name string, value []byte) []byte {
	dst, _ = yaml.AppendMember(dst, name, value)
	return dst
}

func appendText(dst []byte, name, text string) []byte {
	return appendMember(dst, name, json.AppendString(nil, text))
}
