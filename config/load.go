package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is a configuration with the places of its fields in the file that it was read from.
type Document struct {
	// File has the fields that could be decoded. Flags may override it. It is not complete before Check.
	File *File

	path      string // empty if there is no file
	problems  []Problem
	positions map[string]position // by path of the field
}

// Empty returns the document of no file.
func Empty() *Document { return &Document{File: &File{}} }

// Read reads a configuration file, YAML or JSON. It returns an error only if the file cannot be read;
// Check reports its problems.
func Read(path string) (*Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, text), nil
}

// Parse is Read with the content of the file. Problems name it by path.
func Parse(path string, text []byte) *Document {
	c := &Document{File: &File{}, path: path, positions: map[string]position{}}
	d := decoder{document: c}
	stream := yaml.NewDecoder(bytes.NewReader(text))
	var root, second yaml.Node
	switch err := stream.Decode(&root); {
	case errors.Is(err, io.EOF):
	case err != nil:
		c.problems = append(c.problems, syntaxProblem(path, err))
		return c
	default:
		d.object(root.Content[0], reflect.ValueOf(c.File).Elem(), "")
		if err := stream.Decode(&second); !errors.Is(err, io.EOF) {
			d.problem(&second, "", "the file must hold one document")
		}
	}
	for field, v := range map[string]struct{ is, must string }{"apiVersion": {c.File.APIVersion, APIVersion},
		"kind": {c.File.Kind, Kind}} {
		if v.is != v.must {
			c.problems = append(c.problems, Problem{Field: field, Message: fmt.Sprintf("must be %s, not %q", v.must, v.is), path: path,
				position: c.positions[field]})
		}
	}
	return c
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntaxProblem takes the line out of an error of package yaml.
func syntaxProblem(path string, err error) Problem {
	text := err.Error()
	found := yamlLine.FindStringSubmatch(text)
	p := Problem{path: path, Message: "is no valid YAML: " + strings.TrimPrefix(text, "yaml: ")}
	if found != nil {
		p.Message = "is no valid YAML: " + text[len(found[0]):]
		p.line, _ = strconv.Atoi(found[1])
	}
	return p
}

// Check sets the defaults of the fields that are unset, and returns all problems of the file and of its
// values, joined, in the order of the file; nil if there are none.
func (c *Document) Check() error {
	c.File.Default()
	all := c.problems
	for _, p := range c.File.problems() {
		if !c.follows(p) {
			if p.position = c.locate(p.Field); p.line > 0 {
				p.path = c.path
			}
			all = append(all, p)
		}
	}
	return join(all)
}

// follows reports whether a problem follows from another: the field, or one below, could not be decoded
// and has its default.
func (c *Document) follows(p Problem) bool {
	for _, earlier := range c.problems {
		rest, below := strings.CutPrefix(earlier.Field, p.Field)
		if below && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// locate returns where a field, or the nearest one around it, is in the file.
func (c *Document) locate(field string) position {
	for field != "" {
		if at, ok := c.positions[field]; ok {
			return at
		}
		field = field[:max(0, strings.LastIndexAny(field, ".["))]
	}
	return position{}
}
