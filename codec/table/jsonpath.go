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

// The limits of a path. A longer one makes a Table pass, as do those that are not exact here.
const (
	maxPath  = 1 << 10 // bytes: the parser takes stack for each step
	maxSteps = 64      // nodes: each leading member may read the object once
	maxWidth = 4       // values that all unions together make of one
)

// What the library's evaluation costs, in bytes that a row may spend: each path, and each slice and filter, and each step
// behind one, for each value that it sees. They allocate for each value, and the library finds all results where a cell
// needs the first.
const (
	findCost   = 64
	sliceCost  = 16
	filterCost = 64
	stepCost   = 16
)

// A columnPath is the compiled JSONPath of a custom column.
//
// Plain member paths, such as .spec.replicas, are evaluated on the raw JSON. All other paths are
// evaluated by client-go, as the apiserver does, on the decoded part of the object that their
// leading members lead to.
type columnPath struct {
	members []string           // the leading members
	library *jsonpath.JSONPath // nil for a plain member path

	steps, width  int // see accept
	cost, filters int // what slices, filters and the steps behind them cost for a value, and how many filters there are

	place *place // where the leading members lead to
	// decoded is the place above or at place whose value is decoded for the library, and depth the number of members that
	// lead to it.
	decoded *place
	depth   int
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
	c := &columnPath{width: 1}
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

// accept reports whether a node gives the same values in the same order every time, every value is a part of the object,
// and the path is within its limits. Inside filters, literals are values too.
//
// Wildcards and recursive descent follow the iteration order of Go maps. Identifiers are the
// keywords range and end, which change the state of the library's evaluator and make it unsafe for
// concurrent use. [*] is an array slice, not a wildcard.
//
// Each step leads deeper into the object, so slices and filters give each value once. Only unions repeat values: the
// library finds all values, and those of two unions multiply.
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
	case *jsonpath.UnionNode:
		if c.width *= len(n.Nodes); c.width > maxWidth {
			return false
		}
		for _, child := range n.Nodes {
			if !c.accept(child, literals) {
				return false
			}
		}
		return true
	case *jsonpath.FilterNode:
		c.cost, c.filters = c.cost+filterCost, c.filters+1
		return c.accept(n.Left, true) && c.accept(n.Right, true)
	case *jsonpath.ArrayNode:
		if !n.Params[1].Derived { // else a single index
			c.cost += sliceCost
			return true
		}
		c.step()
		return true
	case *jsonpath.FieldNode:
		c.step()
		return true
	case *jsonpath.TextNode, *jsonpath.IntNode, *jsonpath.FloatNode, *jsonpath.BoolNode:
		return literals
	}
	return false
}

// step takes note of a member or an index, which the library looks up once for each value of a slice or filter before it.
func (c *columnPath) step() {
	if c.cost > 0 {
		c.cost += stepCost
	}
}

// first returns the first value at the path; ok is false if there is none or the evaluation fails,
// for which the apiserver prints the same cell. It is also false if the row has no more to spend.
func (c *columnPath) first(r *row) (v json.Value, ok bool) {
	f := &r.found[c.place.slot]
	if c.library == nil || f.value == nil {
		return f.value, f.value != nil
	}
	searched := c.cost*f.values() + c.filters*len(f.value) // a filter may print all that it sees into an error
	if !r.spend(findCost + c.width*searched) {
		return nil, false
	}
	results, err := c.library.FindResults(c.decode(r))
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil, false
	}
	return encodeValue(results[0][0])
}

// decode returns the decoded value for the library within objects that have no other members, so that a path which
// begins with the members that lead to it finds the same values as in all of the object. All paths of a row share it.
func (c *columnPath) decode(r *row) any {
	f := &r.found[c.decoded.slot]
	if f.decoded == nil {
		if err := kjson.Unmarshal(f.value, &f.decoded); err != nil {
			f.decoded = map[string]any{}
		}
		for _, name := range slices.Backward(c.members[:c.depth]) {
			f.decoded = map[string]any{name: f.decoded}
		}
	}
	return f.decoded
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
