package configdocs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultsFile returns a configuration file that sets every field to its default, with the documentation of each.
func defaultsFile(all []field) []byte {
	var b strings.Builder
	const header = 2 // apiVersion and kind, which need no comment
	for _, one := range all[:header] {
		fmt.Fprintf(&b, "%s: %s\n", one.name, printed(one.value))
	}
	for _, one := range all[header:] {
		b.WriteString("\n")
		writeField(&b, one, "")
	}
	return []byte(b.String())
}

// lineWidth is the width of comments in the file.
const lineWidth = 100

func writeField(b *strings.Builder, f field, indent string) {
	writeComment(b, f.doc, indent)
	if !f.isObject() {
		fmt.Fprintf(b, "%s%s: %s\n", indent, f.name, printed(f.value))
		return
	}
	fmt.Fprintf(b, "%s%s:\n", indent, f.name)
	previous := ""
	for _, inner := range f.fields {
		doc := inner.doc
		if doc == previous { // of several fields in a row
			inner.doc = ""
		}
		previous = doc
		writeField(b, inner, indent+"  ")
	}
}

// writeComment writes a paragraph as lines of a comment.
func writeComment(b *strings.Builder, text, indent string) {
	prefix, line := indent+"#", indent+"#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > lineWidth && line != prefix {
			b.WriteString(line + "\n")
			line = prefix
		}
		line += " " + word
	}
	if line != prefix {
		b.WriteString(line + "\n")
	}
}

// printed returns a value as YAML, in one line.
func printed(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case metav1.Duration:
		return shortDuration(x.Duration)
	case int64:
		return resource.NewQuantity(x, resource.BinarySI).String()
	case string:
		if x != "" && !strings.ContainsAny(x, "#'\"{}[]&*!|>%@`") && !strings.HasSuffix(x, ":") {
			return x
		}
		return strconv.Quote(x)
	case []string:
		return "[" + strings.Join(x, ", ") + "]"
	}
	if v.Kind() == reflect.Slice {
		return "[]"
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err) // a number or bool
	}
	return string(text)
}

// shortDuration returns a duration without the zeros at the end of its usual form: 5m, not 5m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
