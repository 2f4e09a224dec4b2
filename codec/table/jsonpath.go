package table

import (
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"sluice/codec/json"
)

// The limits of the columns of a CRD, of which somebody may declare a thousand that each print an object,
// or search all of it. Beyond the first three all Tables of the resource pass, and beyond maxRow until the
// store is filled anew.
const (
	maxColumns = 32
	maxPath    = 1 << 10 // bytes: the parser takes stack for each step
	maxSteps   = 32      // nodes: each leading member may read the object once
	// maxRow is the highest cost of a row: each byte that a column reads or prints once, and each that the
	// library evaluates libraryCost times for each step.
	maxRow      = 4 << 20
	libraryCost = 8
)

// A columnPath is the compiled JSONPath of a custom column.
//
// Plain member paths, such as .spec.replicas, are evaluated on the raw JSON. All other paths are
// evaluated by client-go, as the apiserver does, on the decoded part of the object that their
// leading members lead to.
type columnPath struct {
	members []string           // the leading members
	library *jsonpath.JSONPath // nil for a plain member path

	steps int // see accept
}

// compilePath compiles a column's JSONPath. Error: ErrPath for a path that is invalid, for a path whose first value
// depends on the iteration order of a Go map, and beyond the limits of a path.
func compilePath(path string) (*columnPath, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("path of %d bytes: %w", len(path), ErrPath)
	}
	template := "{" + path + "}" // as the apiserver's tableconvertor has it
	parsed, err := jsonpath.Parse(path, template)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w: %w", path, ErrPath, err)
	}
	if len(parsed.Root.Nodes) != 1 {
		return nil, fmt.Errorf("path %q is more than one expression: %w", path, ErrPath)
	}
	expression := parsed.Root.Nodes[0].(*jsonpath.ListNode)
	c := &columnPath{}
	if len(expression.Nodes) == 0 || !c.accept(expression, false) {
		return nil, fmt.Errorf("path %q: %w", path, ErrPath)
	}
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

// accept reports whether a node gives the same values in the same order every time, every value is a part
// of the object, and the path is within its limits. Inside filters, literals are values too.
//
// Wildcards and recursive descent follow the iteration order of Go maps. Identifiers are the
// keywords range and end, which change the state of the library's evaluator and make it unsafe for
// concurrent use. [*] is an array slice, not a wildcard.
//
// Each step leads deeper into the object, so slices and filters give each value once. Unions, which repeat
// values, are refused.
func (c *columnPath) accept(n jsonpath.Node, literals bool) bool {
	if c.steps++; c.steps > maxSteps {
		return false
	}
	switch n := n.(type) {
	case *jsonpath.ListNode:
		for _, child := range n.Nodes {
			if !c.accept(child, literals) {
				return false
			}
		}
		return true
	case *jsonpath.FilterNode:
		return c.accept(n.Left, true) && c.accept(n.Right, true)
	case *jsonpath.ArrayNode, *jsonpath.FieldNode:
		return true
	case *jsonpath.TextNode, *jsonpath.IntNode, *jsonpath.FloatNode, *jsonpath.BoolNode:
		return literals
	}
	return false
}

// first returns the first value at the path; ok is false if there is none or the evaluation fails,
// for which the apiserver prints the same cell. It is also false if the row has no more to spend.
func (c *columnPath) first(r *row) (v json.Value, ok bool) {
	value := r.object
	for i, name := range c.members {
		switch {
		case i == 0:
			value = r.part(name)
		case r.spend(len(value)):
			value = value.Get(name)
		default:
			return nil, false
		}
	}
	if c.library == nil || value == nil {
		return value, value != nil
	}
	if !r.spend(libraryCost * c.steps * len(value)) {
		return nil, false
	}
	results, err := c.library.FindResults(c.decode(value))
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil, false
	}
	return encodeValue(results[0][0])
}

// decode returns the decoded value for the library within objects that have no other members, so that a path which
// begins with the members that lead to it finds the same values as in all of the object.
func (c *columnPath) decode(value json.Value) any {
	var decoded any
	if err := kjson.Unmarshal(value, &decoded); err != nil {
		decoded = map[string]any{}
	}
	for _, name := range slices.Backward(c.members) {
		decoded = map[string]any{name: decoded}
	}
	return decoded
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
