package yaml

import (
	"bytes"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"

	"sluice/codec/json"
)

// maxWidth is the column after which the emitter folds a line at the next space.
const maxWidth = 80

// rare prints a value that contains a rare text, by the emitter of yaml/v2, in place of what follows start on the current
// line. The emitter gives the value its indentation if it is the innermost of as many lists as there are levels.
func (p *printer) rare(start, indent int, v any) {
	p.dst = p.dst[:start]
	if len(p.dst) > p.limit {
		return
	}
	for range indent / 2 {
		v = []any{v}
	}
	out, _ := yamlv2.Marshal(v) // cannot fail for texts, numbers and lists
	p.dst = append(p.dst, out[indent:]...)
	p.fresh, p.bol = true, len(p.dst)
}

// rareName prints a name and its colon, and reports whether a question mark precedes the name.
func (p *printer) rareName(name []byte, indent int) (explicit bool) {
	start, bol := len(p.dst), p.bol
	p.rare(start, indent, map[string]any{p.bounded(string(name), indent): nil})
	p.dst, p.fresh = bytes.TrimSuffix(p.dst, []byte(" null\n")), false
	p.bol = max(bol, 1+bytes.LastIndexByte(p.dst, '\n'))
	return bytes.HasPrefix(p.dst[start:], []byte("? "))
}

var nextLine = []byte("\u0085")

// value returns a scalar, or an empty list or map. The apiserver reads the JSON with its YAML parser, for which a raw U+0085 is
// a line break.
func (p *printer) value(n uint32, indent int) any {
	v := p.nodes[n]
	raw := p.src[v.start:v.end]
	var value any
	if v.kind != json.String || v.flags&json.NonASCII != 0 && bytes.Contains(raw, nextLine) {
		if yamlv2.Unmarshal(raw, &value) != nil {
			value, _ = json.Value(raw).Text() // which the apiserver fails to print
		}
	} else {
		value, _ = json.Value(raw).Text()
	}
	if text, ok := value.(string); ok {
		return p.bounded(text, indent)
	}
	return value
}

// bounded returns a text, or nothing if the indentation of its lines alone would exceed the limit.
func (p *printer) bounded(text string, indent int) string {
	lines := min(strings.Count(text, " "), len(text)/max(1, maxWidth+1-indent))
	for _, lineBreak := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		lines += strings.Count(text, lineBreak)
	}
	if len(p.dst)+lines*indent > p.limit {
		p.expands = true
		return ""
	}
	return text
}
