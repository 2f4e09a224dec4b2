package yaml

import (
	"bytes"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"sluice/codec/json"
)

// MaxObject is the longest JSON that is printed in one piece, in bytes.
const MaxObject = 256 << 10

// maxDepth is how deep an object may nest, in levels.
const maxDepth = 128

// AppendFromJSON appends one JSON value as a YAML document that ends in a newline. A list that is longer than MaxObject is
// printed member by member, and its items one by one.
//
// The error is json.ErrSyntax, json.ErrDepth, json.ErrSize, or an error of the library; dst is then
// returned unchanged.
func AppendFromJSON(dst, src []byte) ([]byte, error) {
	if len(src) <= MaxObject {
		return appendYAML(dst, src)
	}
	members := map[string]json.Value{}
	var names []string
	for key, v := range json.Value(src).Members {
		name := string(key)
		if members[name] == nil {
			names = append(names, name)
		}
		members[name] = v
	}
	if items := members["items"]; len(items) <= MaxObject || items.Kind() != json.Array {
		return dst, tooLarge(src)
	}
	slices.Sort(names) // the order of the library, too, for the names in a list
	base := len(dst)
	var err error
	for _, name := range names {
		if dst, err = appendLongMember(dst, name, members[name]); err != nil {
			return dst[:base], err
		}
	}
	return dst, nil
}

// appendLongMember is AppendMember for a list of many items.
func appendLongMember(dst []byte, name string, v json.Value) (_ []byte, err error) {
	if name != "items" || len(v) <= MaxObject || v.Kind() != json.Array {
		return AppendMember(dst, name, v)
	}
	dst = append(dst, "items:\n"...)
	for _, item := range v.Elements {
		if dst, err = AppendItem(dst, item); err != nil {
			break
		}
	}
	return dst, err
}

// AppendItem appends one JSON value as an element of a sequence at the top level of a document,
// such as the items of a list:
//
//   - apiVersion: v1
//     kind: Pod
//
// It has the errors of AppendFromJSON.
func AppendItem(dst, src []byte) ([]byte, error) {
	return appendYAML(dst, slices.Concat([]byte{'['}, src, []byte{']'}))
}

// AppendMember appends one member of the mapping at the top level of a document. Callers must
// append members in the order of their names. A sequence of AppendItem begins with its name, a
// colon and a newline.
//
// It has the errors of AppendFromJSON.
func AppendMember(dst []byte, name string, src []byte) ([]byte, error) {
	return appendYAML(dst, slices.Concat([]byte{'{'}, json.AppendString(nil, name), []byte{':'}, src, []byte{'}'}))
}

func appendYAML(dst, src []byte) ([]byte, error) {
	if len(src) > MaxObject {
		return dst, tooLarge(src)
	}
	if err := json.Valid(src, maxDepth); err != nil {
		return dst, err
	}
	out, err := yaml.JSONToYAML(bytes.ToValidUTF8(src, []byte("\ufffd")))
	switch {
	case err != nil:
		return dst, err
	case len(out) > json.MaxIndented(len(src)):
		return dst, tooLarge(src)
	}
	return append(dst, out...), nil
}

func tooLarge(src []byte) error {
	return fmt.Errorf("%d bytes of JSON as YAML: %w", len(src), json.ErrSize)
}
