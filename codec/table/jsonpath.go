package table

import (
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"strconv"

	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"sluice/codec/json"
)

// A columnPath is the compiled JSONPath of a custom column.
//
// Plain member paths, such as .spec.replicas, are evaluated on the raw JSON. All other paths are
// evaluated by client-go, as the apiserver does, on the decoded part of the object that their
// leading members lead to.
type columnPath struct {
	members []string           // the leading members
	library *jsonpath.JSONPath // nil for a plain member path
}

// compilePath compiles a column's JSONPath. Error: ErrPath for a path that is invalid, and for a
// path whose first value depends on the iteration order of a Go map.
func compilePath(path string) (columnPath, error) {
	template := "{" + path + "}" // as the apiserver's tableconvertor has it
	parsed, err := jsonpath.Parse(path, template)
	if err != nil {
		return columnPath{}, fmt.Errorf("path %q: %w: %w", path, ErrPath, err)
	}
	if len(parsed.Root.Nodes) != 1 {
		return columnPath{}, fmt.Errorf("path %q is more than one expression: %w", path, ErrPath)
	}
	expression := parsed.Root.Nodes[0].(*jsonpath.ListNode)
	if len(expression.Nodes) == 0 || !deterministic(expression, false) {
		return columnPath{}, fmt.Errorf("path %q: %w", path, ErrPath)
	}
	var c columnPath
	for _, n := range expression.Nodes {
		f, ok := n.(*jsonpath.FieldNode)
		if !ok {
			c.library = jsonpath.New(path).AllowMissingKeys(true)
			return c, c.library.Parse(template)
		}
		c.members = append(c.members, f.Value)
	}
	return c, nil
}

// deterministic reports whether a node gives the same values in the same order every time, and
// every value is a part of the object. Inside filters, literals are values too.
//
// Wildcards and recursive descent follow the iteration order of Go maps. Identifiers are the
// keywords range and end, which change the state of the library's evaluator and make it unsafe for
// concurrent use. [*] is an array slice, not a wildcard.
func deterministic(n jsonpath.Node, literals bool) bool {
	switch n := n.(type) {
	case *jsonpath.ListNode:
		for _, child := range n.Nodes {
			if !deterministic(child, literals) {
				return false
			}
		}
		return true
	case *jsonpath.UnionNode:
		for _, child := range n.Nodes {
			if !deterministic(child, literals) {
				return false
			}
		}
		return true
	case *jsonpath.FilterNode:
		return deterministic(n.Left, true) && deterministic(n.Right, true)
	case *jsonpath.FieldNode, *jsonpath.ArrayNode:
		return true
	case *jsonpath.TextNode, *jsonpath.IntNode, *jsonpath.FloatNode, *jsonpath.BoolNode:
		return literals
	}
	return false
}

// first returns the first value at the path; ok is false if there is none or the evaluation fails,
// for which the apiserver prints the same cell.
func (c *columnPath) first(r *row) (v json.Value, ok bool) {
	if c.library == nil {
		v = r.at(c.members)
		return v, v != nil
	}
	object, err := decodeMember(r.object, c.members)
	if err != nil {
		return nil, false
	}
	results, err := c.library.FindResults(object)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil, false
	}
	return encodeValue(results[0][0])
}

// decodeMember decodes the value at a member path and returns it within objects that have no other
// members, so that a path which begins with these members finds the same values as in all of v.
func decodeMember(v json.Value, members []string) (decoded any, err error) {
	if len(members) == 0 || v.Kind() != json.Object {
		err = kjson.Unmarshal(v, &decoded)
		return decoded, err
	}
	member := v.Get(members[0])
	if member == nil {
		return map[string]any{}, nil
	}
	decoded, err = decodeMember(member, members[1:])
	return map[string]any{members[0]: decoded}, err
}

// encodeValue encodes a value that the library has found. A float keeps the spelling with which Go
// prints it, which is how the library would print it as a string.
func encodeValue(v reflect.Value) (json.Value, bool) {
	value := v.Interface()
	if f, ok := value.(float64); ok {
		return strconv.AppendFloat(nil, f, 'g', -1, 64), true
	}
	b, err := stdjson.Marshal(value)
	return b, err == nil
}
