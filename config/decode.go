package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decoder fills the File of a document from nodes of YAML. A value that it cannot decode is a problem
// and stays unset, so that all problems of a file are found at once.
type decoder struct{ document *Document }

func (d *decoder) problem(n *yaml.Node, field, format string, args ...any) {
	d.document.problems = append(d.document.problems, Problem{
		Field: field, Message: fmt.Sprintf(format, args...), path: d.document.path, position: position{n.Line, n.Column},
	})
}

// object decodes a mapping into the fields of a struct.
func (d *decoder) object(n *yaml.Node, into reflect.Value, path string) {
	if n = resolve(n); n.Kind != yaml.MappingNode {
		d.mustBe(n, path, "an object")
		return
	}
	names := map[string]reflect.Value{}
	for i := range into.NumField() {
		names[jsonName(into.Type().Field(i))] = into.Field(i)
	}
	seen := map[string]int{} // line
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name, field := key.Value, below(path, key.Value)
		into, known := names[name]
		switch line, twice := seen[name]; {
		case twice:
			d.problem(key, field, "is set twice, first in line %d", line)
		case gone[field] != "":
			d.problem(key, field, "is no longer a field; %s", gone[field])
		case !known:
			d.problem(key, field, "is not a field%s", suggestion(name, names))
		default:
			d.document.positions[field] = position{value.Line, value.Column}
			d.value(value, into, field)
		}
		if _, twice := seen[name]; !twice {
			seen[name] = key.Line
		}
	}
}

// value decodes a node into a field. null leaves it unset.
func (d *decoder) value(n *yaml.Node, into reflect.Value, path string) {
	n = resolve(n)
	if n.ShortTag() == "!!null" {
		return
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	if into.Type() == reflect.TypeFor[metav1.Duration]() {
		d.duration(n, into, path)
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		d.object(n, into, path)
	case reflect.Slice:
		d.list(n, into, path)
	case reflect.String:
		d.scalar(n, into, path, "a string", "!!str")
	case reflect.Bool:
		d.scalar(n, into, path, "true or false", "!!bool")
	case reflect.Int:
		d.scalar(n, into, path, "a whole number", "!!int")
	case reflect.Int64:
		d.bytes(n, into, path)
	case reflect.Float64:
		d.scalar(n, into, path, "a number", "!!int", "!!float")
	default:
		panic("config: no field can be a " + into.Type().String())
	}
}

func (d *decoder) list(n *yaml.Node, into reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.mustBe(n, path, "a list")
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		field := fmt.Sprintf("%s[%d]", path, i)
		d.document.positions[field] = position{item.Line, item.Column}
		d.value(item, into.Index(i), field)
	}
}

// scalar decodes a scalar that has one of the tags.
func (d *decoder) scalar(n *yaml.Node, into reflect.Value, path, what string, tags ...string) {
	for _, tag := range tags {
		if n.Kind == yaml.ScalarNode && n.ShortTag() == tag && n.Decode(into.Addr().Interface()) == nil {
			return
		}
	}
	d.mustBe(n, path, what)
}

// bytes decodes a number of bytes, as Kubernetes writes it.
func (d *decoder) bytes(n *yaml.Node, into reflect.Value, path string) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" && n.Decode(into.Addr().Interface()) == nil {
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		if q, err := resource.ParseQuantity(n.Value); err == nil {
			if into.SetInt(q.Value()); q.CmpInt64(into.Int()) == 0 { // else a fraction, or too large
				return
			}
		}
	}
	d.mustBe(n, path, "a number of bytes, such as 512Mi")
}

func (d *decoder) duration(n *yaml.Node, into reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.mustBe(n, path, "a duration, such as 10s or 5m")
		return
	}
	v, err := time.ParseDuration(n.Value)
	if err != nil {
		d.problem(n, path, "%q is not a duration, such as 10s or 5m", n.Value)
		return
	}
	into.Set(reflect.ValueOf(metav1.Duration{Duration: v}))
}

// mustBe reports a value of another type.
func (d *decoder) mustBe(n *yaml.Node, path, what string) {
	is := "is " + map[yaml.Kind]string{yaml.MappingNode: "an object", yaml.SequenceNode: "a list"}[n.Kind]
	if n.Kind == yaml.ScalarNode {
		is = fmt.Sprintf("is %.50q", n.Value)
		if n.ShortTag() == "!!str" && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			is = "is the string " + strings.TrimPrefix(is, "is ")
		}
	}
	d.problem(n, path, "must be %s, %s", what, is)
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// suggestion returns the known name that an unknown one resembles most, as the end of a message.
func suggestion(name string, known map[string]reflect.Value) string {
	const maxEdits = 2
	best, edits := "", maxEdits+1
	for k := range known {
		if n := distance(strings.ToLower(name), strings.ToLower(k)); n < edits || n == edits && k < best {
			best, edits = k, n
		}
	}
	if edits > maxEdits {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance returns how many bytes must be inserted, removed or replaced to make a of b. It reports long
// names, which are no misspelled fields, as far apart.
func distance(a, b string) int {
	const maxName = 64
	if len(a) > maxName || len(b) > maxName {
		return maxName
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
