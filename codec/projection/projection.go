package projection

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Projection is the canonical text of a projection, such as "keep=spec.nodeName": equal Projections have equal effects.
// The zero value leaves objects whole.
type Projection string

// WithoutManagedFields is the projection that the apiserver has, too (KEP-5958).
const WithoutManagedFields Projection = "drop=metadata.managedFields"

// maxSteps bounds the names and brackets of all paths together.
const maxSteps = 128

// Tree is a parsed projection.
type Tree struct {
	// Keeps is true for keep: only the fields in Root stay. Otherwise they are left out.
	Keeps bool
	Root  *Node
}

// Node is the part of one value that the paths name: all of it, some fields or keys of an object, or a part of each
// element of a list or value of a map.
type Node struct {
	Whole  bool
	Fields map[string]*Node
	Each   *Node
}

// identity is the fields that every projection keeps.
var identity = [][]string{
	{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}, {"metadata", "uid"}, {"metadata", "resourceVersion"},
	{"metadata", "creationTimestamp"}, {"metadata", "deletionTimestamp"}, {"metadata", "labels"},
}

// Parse parses the values of the parameters keep and drop, of which one is empty. The error tells why there is no such
// projection.
func Parse(keep, drop string) (Projection, error) {
	switch {
	case keep != "" && drop != "":
		return "", errors.New("keep and drop exclude each other")
	case keep == "" && drop == "":
		return "", nil
	}
	if strings.ContainsFunc(keep+drop, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
		return "", errors.New("paths are printable ASCII without spaces, quotes and backslashes")
	}
	paths := strings.Split(keep+drop, "+")
	slices.Sort(paths)
	paths = slices.Compact(paths)
	p := Projection("drop=" + strings.Join(paths, "+"))
	if keep != "" {
		p = Projection("keep=" + strings.Join(paths, "+"))
	}
	if _, err := p.parse(); err != nil {
		return "", err
	}
	return p, nil
}

// Tree returns the tree of a Projection that Parse returned, nil for the zero value.
func (p Projection) Tree() *Tree {
	if p == "" {
		return nil
	}
	t, _ := p.parse() // Parse has checked it
	return t
}

func (p Projection) parse() (*Tree, error) {
	verb, paths, _ := strings.Cut(string(p), "=")
	t := &Tree{Keeps: verb == "keep", Root: &Node{}}
	total := 0
	for path := range strings.SplitSeq(paths, "+") {
		steps, err := split(path)
		if total += len(steps); total > maxSteps {
			return nil, fmt.Errorf("more than %d names in all paths", maxSteps)
		}
		if err == nil {
			err = t.Root.add(steps)
		}
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", path, err)
		}
	}
	if !t.Keeps {
		return t, t.checkIdentity()
	}
	for _, steps := range identity {
		if err := t.Root.add(steps); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(steps, "."), err)
		}
	}
	return t, nil
}

// checkIdentity returns an error for a tree that drops the identity of objects.
func (t *Tree) checkIdentity() error {
	for _, steps := range identity {
		n := t.Root
		for _, step := range steps {
			if n != nil && n.Each != nil {
				n = n.Each
			} else if n != nil && !n.Whole {
				n = n.Fields[step]
			}
		}
		if n != nil {
			return fmt.Errorf("%s cannot be dropped", strings.Join(steps, "."))
		}
	}
	return nil
}

// each is the step of [*]; no name is empty.
const each = ""

// split returns the names, keys and [*] of a path.
func split(path string) (steps []string, err error) {
	for rest := path; ; {
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 || strings.ContainsAny(rest[:end], "]*") {
			return nil, errors.New("a name is missing or has ] or *")
		}
		steps, rest = append(steps, rest[:end]), rest[end:]
		for strings.HasPrefix(rest, "[") {
			key, after, closed := strings.Cut(rest[1:], "]")
			switch {
			case !closed || key == "":
				return nil, errors.New("write [*] or [key]")
			case key == "*":
				key = each
			}
			steps, rest = append(steps, key), after
		}
		switch {
		case rest == "" && steps[len(steps)-1] == each:
			return nil, errors.New("[*] at the end has no effect: leave it out")
		case rest == "":
			return steps, nil
		case rest[0] != '.':
			return nil, errors.New("a point is missing after ]")
		}
		rest = rest[1:]
	}
}

// add adds a path below n. The whole value replaces paths into it, and they add nothing to it.
func (n *Node) add(steps []string) error {
	switch {
	case len(steps) == 0:
		*n = Node{Whole: true}
		return nil
	case n.Whole:
		return nil
	case steps[0] == each && n.Fields != nil, steps[0] != each && n.Each != nil:
		return errors.New("[*] and names exclude each other in one place")
	case steps[0] == each:
		if n.Each == nil {
			n.Each = &Node{}
		}
		return n.Each.add(steps[1:])
	case n.Fields == nil:
		n.Fields = map[string]*Node{}
	}
	if n.Fields[steps[0]] == nil {
		n.Fields[steps[0]] = &Node{}
	}
	return n.Fields[steps[0]].add(steps[1:])
}
