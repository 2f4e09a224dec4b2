package resources

import (
	"fmt"
	"strings"

	"sluice/cache"
	"sluice/codec/json"
	"sluice/codec/proto"
)

// fields are those that field selectors may name for a resource. Name and
// namespace are among them, but their values are in the key.
type fields struct {
	labels []string // as selectors spell them, in the order of cache.Object.Fields
	paths  []path   // where they lie in JSON objects; nil for Protobuf
	plan   *proto.Schema
}

// path leads to a field of a JSON object.
type path struct {
	names, fallback []string
	zero            string // the value when nothing is there
}

// builtinFields are those of a kind whose Go type is known.
func builtinFields(apiVersion, kind string, plan *proto.Schema) *fields {
	f := &fields{plan: plan}
	for _, s := range proto.SelectableFields(apiVersion, kind) {
		f.labels = append(f.labels, s.Label)
		p := path{names: split(s.Path), fallback: split(s.Fallback), zero: s.Zero}
		f.paths = append(f.paths, p)
	}
	return f
}

func split(dotted string) []string {
	if dotted == "" {
		return nil
	}
	return strings.Split(dotted, ".")
}

// customFields are the selectableFields of a CRD's version. Selectors name
// them by their JSONPath without its leading dot.
func customFields(version json.Value, namespaced bool) (*fields, error) {
	f := &fields{}
	add := func(label, jsonPath string) error {
		names, err := json.ParsePath(jsonPath)
		f.labels = append(f.labels, label)
		f.paths = append(f.paths, path{names: names})
		return err
	}
	if err := add(FieldName, FieldName); err != nil {
		return nil, err
	}
	if namespaced {
		if err := add(FieldNamespace, FieldNamespace); err != nil {
			return nil, err
		}
	}
	for _, s := range version.Get("selectableFields").Elements {
		jsonPath, _ := s.Get("jsonPath").Text()
		if err := add(strings.TrimPrefix(jsonPath, "."), jsonPath); err != nil {
			return nil, fmt.Errorf("selectable field %q: %w", jsonPath, err)
		}
	}
	return f, nil
}

// index returns the position of the field that is indexed: in clusters of many
// nodes, every kubelet selects by the node's name.
func (f *fields) index() *int {
	for i, label := range f.labels {
		if label == "spec.nodeName" {
			return &i
		}
	}
	return nil
}

// position returns where a selector's field stands in cache.Object.Fields.
func (f *fields) position(label string) (int, bool) {
	if f.plan != nil {
		return f.plan.FieldIndex(label) // knows aliases
	}
	for i, l := range f.labels {
		if l == label {
			return i, true
		}
	}
	return 0, false
}

// ofProto returns the values of a raw object's fields.
func (f *fields) ofProto(raw []byte) ([]string, error) {
	values, err := f.plan.AppendFieldValues(make([]string, 0, len(f.labels)), raw)
	for i, v := range values {
		if values[i] = ""; !inKey(f.labels[i]) {
			values[i] = cache.Intern(v) // v aliases raw
		}
	}
	return values, err
}

// inKey tells the fields that need no place of their own.
func inKey(label string) bool { return label == FieldName || label == FieldNamespace }

// The fields that an object's key holds.
const (
	FieldName      = "metadata.name"
	FieldNamespace = "metadata.namespace"
)

// ofJSON returns the values of a JSON object's fields.
func (f *fields) ofJSON(object json.Value) []string {
	values := make([]string, len(f.paths))
	for i, p := range f.paths {
		if !inKey(f.labels[i]) {
			values[i] = cache.Intern(p.value(object))
		}
	}
	return values
}

func (p path) value(object json.Value) string {
	for _, names := range [][]string{p.names, p.fallback} {
		if len(names) == 0 {
			continue
		}
		if text, ok := object.Field(names...); ok && text != "" {
			return text
		}
	}
	return p.zero
}

func protoLabels(meta proto.ObjectMeta) []cache.Label {
	var labels []cache.Label
	for key, value := range meta.Labels {
		labels = append(labels, cache.Label{Key: cache.Intern(key), Value: cache.Intern(value)})
	}
	return labels
}

func jsonLabels(labels json.Value) []cache.Label {
	var out []cache.Label
	for key, value := range labels.Members {
		text, _ := value.Bytes()
		out = append(out, cache.Label{Key: cache.Intern(key), Value: cache.Intern(text)})
	}
	return out
}
