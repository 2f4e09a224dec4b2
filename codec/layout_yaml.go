package codec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/json"
	"sluice/codec/yaml"
)

// yamlLayout is YAML: members sorted, so that a list's items stand in its middle and a Table's rows at its end. It is never
// used for watches.
type yamlLayout struct {
	body body // gives JSON
	list collection
}

func (l *yamlLayout) appendObject(dst, src []byte) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = l.body.object(s.b[:0], src, true); err != nil {
		return dst, err
	}
	return yaml.AppendFromJSON(dst, s.b)
}

func (l *yamlLayout) appendItem(dst, src []byte) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = l.body.item(s.b[:0], src); err != nil {
		return dst, err
	}
	return yaml.AppendItem(dst, s.b)
}

func (l *yamlLayout) separator() string { return "" }

func (l *yamlLayout) appendHead(dst []byte, meta *metav1.ListMeta, n, _ int) []byte {
	dst = appendYAMLText(dst, "apiVersion", l.list.apiVersion)
	if l.list.columns != nil {
		dst = appendYAMLMember(dst, "columnDefinitions", l.list.columns.AppendDefinitions(nil))
		dst = l.appendKind(dst, meta)
	}
	if n == 0 {
		return appendYAMLMember(dst, l.list.member(), []byte(l.list.empty()))
	}
	return append(append(dst, l.list.member()...), ":\n"...)
}

func (l *yamlLayout) appendTail(dst []byte, meta *metav1.ListMeta, _ int) []byte {
	if l.list.columns != nil {
		return dst
	}
	return l.appendKind(dst, meta)
}

// appendKind appends the two members that stand between items and rows.
func (l *yamlLayout) appendKind(dst []byte, meta *metav1.ListMeta) []byte {
	dst = appendYAMLText(dst, "kind", l.list.kind)
	return appendYAMLMember(dst, "metadata", appendListMeta(nil, meta, l.list.style))
}

func (l *yamlLayout) appendEvent(dst []byte, _ string, _ []byte, _ body, _ bool) ([]byte, error) {
	return dst, ErrUnsupported
}

func (l *yamlLayout) appendStatus(dst []byte, _ *metav1.Status) []byte { return dst }

// appendYAMLMember appends a member whose value is JSON that was made here, so that it cannot fail.
func appendYAMLMember(dst []byte, name string, value []byte) []byte {
	dst, _ = yaml.AppendMember(dst, name, value)
	return dst
}

func appendYAMLText(dst []byte, name, text string) []byte {
	return appendYAMLMember(dst, name, json.AppendString(nil, text))
}
