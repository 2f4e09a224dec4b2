package discovery

import (
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"sluice/cache/tree"
	"sluice/codec/json"
	"sluice/codec/proto"
)

// The selectable fields that are parts of an object's key.
const (
	FieldName      = "metadata.name"
	FieldNamespace = "metadata.namespace"
)

// IndexedField is the field by which stores are indexed: every kubelet selects pods by it.
const IndexedField = "spec.nodeName"

// Fields are the fields that field selectors can name for a resource. The values of an object's
// fields are stored in tree.Object.Fields, in the order of their positions; the values of FieldName
// and FieldNamespace are left empty there, because they are in the key. The zero value has none.
type Fields struct {
	labels []string // as selectors spell them
	paths  []fieldPath
	schema *proto.Schema // of objects in Protobuf; nil for JSON
	custom bool          // of a custom resource, whose values may be as long as an object
}

// fieldPath is where the value of a field is in a JSON object.
type fieldPath struct {
	names, fallback []string
	zero            string // the value if neither is there
}

// BuiltinFields returns the fields of a kind whose Go type is compiled in.
func BuiltinFields(apiVersion, kind string, schema *proto.Schema) Fields {
	f := Fields{schema: schema}
	for _, s := range proto.SelectableFields(apiVersion, kind) {
		f.add(s.Label, fieldPath{names: split(s.Path), fallback: split(s.Fallback), zero: s.Zero})
	}
	return f
}

func split(dotted string) []string {
	if dotted == "" {
		return nil
	}
	return strings.Split(dotted, ".")
}

// customFields returns the fields of a version of a CRD: name, namespace and its selectableFields,
// which selectors name by their JSONPath without the leading dot. If one of these cannot be parsed
// there are no fields at all.
func customFields(version json.Value, namespaced bool) Fields {
	f := Fields{custom: true}
	f.add(FieldName, fieldPath{})
	if namespaced {
		f.add(FieldNamespace, fieldPath{})
	}
	for _, s := range version.Get("selectableFields").Elements {
		jsonPath, _ := s.Get("jsonPath").Text()
		names, ok := memberNames(jsonPath)
		if !ok {
			return Fields{}
		}
		f.add(strings.TrimPrefix(jsonPath, "."), fieldPath{names: names})
	}
	return f
}

// memberNames splits a JSONPath, such as .spec.color or .metadata.labels['a\.b'], by the parser of the apiserver. ok is false for
// everything but a chain of names: indices, wildcards, filters, ranges and unions.
func memberNames(path string) (names []string, ok bool) {
	parsed, err := jsonpath.Parse("", "{"+path+"}")
	if err != nil || len(parsed.Root.Nodes) != 1 {
		return nil, false
	}
	list, _ := parsed.Root.Nodes[0].(*jsonpath.ListNode)
	if list == nil {
		return nil, false
	}
	for _, n := range list.Nodes {
		field, ok := n.(*jsonpath.FieldNode)
		if !ok || field.Value == "" {
			return nil, false
		}
		names = append(names, field.Value)
	}
	return names, len(names) > 0
}

func (f *Fields) add(label string, p fieldPath) {
	f.labels, f.paths = append(f.labels, label), append(f.paths, p)
}

// Position returns the position of a selector's field, and false if selectors cannot name it.
func (f *Fields) Position(label string) (int, bool) {
	i := slices.Index(f.labels, label)
	if i >= 0 && label == "spec.host" && !f.custom { // of pods: the apiserver converts it
		i = slices.Index(f.labels, IndexedField)
	}
	return max(i, 0), i >= 0
}

// Index returns the position of the field by which the store is indexed, or nil. The keys of an index, and the scopes that are
// known before the history, are values of the field: those of a custom resource can be as long as an object.
func (f *Fields) Index() *int {
	if i := slices.Index(f.labels, IndexedField); i >= 0 && !f.custom {
		return &i
	}
	return nil
}

// Indexed reports whether the store is indexed by the field at a position.
func (f *Fields) Indexed(position int) bool {
	index := f.Index()
	return index != nil && *index == position
}

// Of returns the values of a stored object.
func (f *Fields) Of(object []byte) ([]string, error) {
	values := make([]string, len(f.paths))
	for i, p := range f.paths {
		if inKey(f.labels[i]) {
			continue
		}
		text, err := f.value(object, p)
		if err != nil {
			return nil, err
		}
		values[i] = tree.Intern(text) // text may alias object
	}
	return values, nil
}

func inKey(label string) bool { return label == FieldName || label == FieldNamespace }

func (f *Fields) value(object []byte, p fieldPath) (text string, err error) {
	for _, names := range [][]string{p.names, p.fallback} {
		switch {
		case len(names) == 0:
		case f.schema != nil:
			text, err = f.schema.Field(object, names...)
		default:
			text, _ = json.Value(object).Field(names...)
		}
		if text != "" || err != nil {
			return text, err
		}
	}
	return p.zero, nil
}
