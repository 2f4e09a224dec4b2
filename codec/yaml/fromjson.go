package yaml

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
	"unsafe"

	sigsyaml "sigs.k8s.io/yaml"

	"sluice/codec/json"
)

// AppendFromJSON appends one JSON value as a YAML document that ends in a newline.
//
// For JSON in the form of encoding/json the bytes are those of the apiserver. The apiserver fails
// with status 500 for strings with a control character between U+007F and U+009F except U+0085, with
// U+FFFE or U+FFFF, and for names with U+0085 or of more than 1,020 characters as they are written in
// JSON; AppendFromJSON prints these in the way of its emitter.
//
// src must be well-formed; that is checked only as far as finding the ends of values needs. The
// error is ErrJSON, ErrDepth beyond json.MaxDepth, or ErrSize beyond 4 GiB or what json.MaxIndented
// permits; dst is then returned unchanged.
func AppendFromJSON(dst, src []byte) ([]byte, error) {
	return convert(dst, src, (*printer).document)
}

// AppendItem appends one JSON value as an element of a sequence at the top level of a document,
// such as the items of a list:
//
//   - apiVersion: v1
//     kind: Pod
//
// Errors are those of AppendFromJSON.
func AppendItem(dst, src []byte) ([]byte, error) {
	return convert(dst, src, func(p *printer) {
		p.item(0, 0)
		p.endLine()
	})
}

// AppendMember appends one member of the mapping at the top level of a document. Callers must
// append members in the order of their names. A sequence of AppendItem begins with its name, a
// colon and a newline.
//
// Errors are those of AppendFromJSON.
func AppendMember(dst []byte, name string, src []byte) ([]byte, error) {
	return convert(dst, src, func(p *printer) {
		p.member(unsafe.Slice(unsafe.StringData(name), len(name)), 0, 0) // not modified
		p.endLine()
	})
}

var printers = sync.Pool{New: func() any { return new(printer) }}

// convert indexes src and runs a pooled printer over it.
func convert(dst, src []byte, run func(*printer)) ([]byte, error) {
	p := printers.Get().(*printer)
	defer p.release()
	if err := p.build(src); err != nil {
		return dst, err
	}
	p.dst, p.fresh, p.bol, p.limit = dst, true, len(dst), len(dst)+json.MaxIndented(len(src))
	run(p)
	if len(p.dst) > p.limit {
		return dst, at(ErrSize, "YAML", p.limit-len(dst))
	}
	return p.dst, nil
}

// printer is the state of one conversion.
type printer struct {
	index
	dst     []byte
	text    []byte   // scratch for unescaped names of all open objects, and one value
	members []member // the members of all open objects, sorted
	fresh   bool     // dst ends at the start of a line
	bol     int      // index in dst of the start of the line, before any folding
	limit   int      // the length of dst beyond which lines are not indented any more, and the result is an error
}

// member is a member of an open object.
type member struct {
	name  []byte // unescaped
	value uint32 // index of the node
}

// Limits of the scratch that a pooled printer keeps, so that one large object does not pin memory.
const (
	maxText    = 1 << 20 // bytes
	maxNodes   = 1 << 16
	maxMembers = 1 << 10
)

func (p *printer) release() {
	if cap(p.text) > maxText {
		p.text = nil
	}
	if cap(p.nodes) > maxNodes {
		p.nodes = nil
	}
	if cap(p.members) > maxMembers {
		p.members = nil
	}
	clear(p.members[:cap(p.members)]) // they alias the source
	p.src, p.dst = nil, nil
	printers.Put(p)
}

// document prints the whole document.
func (p *printer) document() {
	switch n := p.nodes[0]; {
	case p.isBlock(0) && n.kind == json.Object:
		p.mapping(0, 0)
	case p.isBlock(0):
		p.sequence(0, 0)
	default:
		p.scalar(0, 2)
	}
	p.endLine()
}

// isBlock reports whether a node is printed on lines of its own: a map or list that is not empty.
func (p *printer) isBlock(n uint32) bool {
	v := p.nodes[n]
	return (v.kind == json.Object || v.kind == json.Array) && v.next > n+1
}

// endLine ends the current line, if it has any content.
func (p *printer) endLine() {
	if !p.fresh {
		p.dst = append(p.dst, '\n')
		p.fresh, p.bol = true, len(p.dst)
	}
}

// line begins a line at the given indentation.
func (p *printer) line(indent int) {
	p.endLine()
	p.dst = appendIndentation(p.dst, indent, p.limit)
	p.fresh = false
}

// mapping prints a map that is not empty, beginning at the current column.
func (p *printer) mapping(n uint32, indent int) {
	p.fresh = false
	first, text := len(p.members), len(p.text)
	p.collect(n)
	last := len(p.members)
	for i := first; i < last; i++ {
		if i > first {
			p.line(indent)
		}
		m := p.members[i]
		p.member(m.name, m.value, indent)
	}
	p.members, p.text = p.members[:first], p.text[:text]
}

// collect pushes the members of an object in their order. Of duplicate names the last counts.
func (p *printer) collect(n uint32) {
	first, sorted := len(p.members), true
	end := p.nodes[n].next
	for i := n + 1; i < end; {
		name := p.name(i)
		if len(p.members) > first && sorted {
			sorted = compare(p.members[len(p.members)-1].name, name) < 0
		}
		p.members = append(p.members, member{name, i + 1})
		i = p.nodes[i+1].next
	}
	if sorted {
		return
	}
	own := p.members[first:]
	slices.SortStableFunc(own, func(a, b member) int { return compare(a.name, b.name) })
	kept := own[:0]
	for i, m := range own {
		if i+1 == len(own) || !bytes.Equal(m.name, own[i+1].name) {
			kept = append(kept, m)
		}
	}
	p.members = p.members[:first+len(kept)]
}

// name returns the text of the name at node n, which may alias p.text.
func (p *printer) name(n uint32) []byte {
	v := p.nodes[n]
	raw := p.src[v.start+1 : v.end-1]
	if v.flags == 0 {
		return raw
	}
	start := len(p.text)
	p.text = json.AppendUnquoted(p.text, raw)
	return p.text[start:]
}

// member prints a name and its value at the indentation of the map.
func (p *printer) member(name []byte, value uint32, indent int) {
	t := traits{}
	if len(name) > 0 {
		t = analyse(name)
	}
	explicit := t.breaks || len(name) > maxSimple
	if explicit {
		p.dst = append(p.dst, '?', ' ')
	}
	p.string(name, t, indent+2, !explicit)
	if explicit {
		p.line(indent)
	}
	p.dst = append(p.dst, ':')
	p.fresh = false
	switch block := p.isBlock(value); {
	case !block:
		p.dst = append(p.dst, ' ')
		p.scalar(value, indent+2)
	case explicit:
		p.inner(value, indent)
	case p.nodes[value].kind == json.Object:
		p.line(indent + 2)
		p.mapping(value, indent+2)
	default:
		p.line(indent)
		p.sequence(value, indent)
	}
}

// maxSimple is the length in bytes of the longest name that the emitter prints without a question
// mark.
const maxSimple = 128

// inner prints a list or map that begins on the line of its dash or colon.
func (p *printer) inner(n uint32, indent int) {
	p.dst = append(p.dst, ' ')
	if p.nodes[n].kind == json.Object {
		p.mapping(n, indent+2)
	} else {
		p.sequence(n, indent+2)
	}
}

// sequence prints a list that is not empty, beginning at the current column.
func (p *printer) sequence(n uint32, indent int) {
	end := p.nodes[n].next
	for i := n + 1; i < end; i = p.nodes[i].next {
		if i > n+1 {
			p.line(indent)
		}
		p.item(i, indent)
	}
}

// item prints a dash and an element.
func (p *printer) item(n uint32, indent int) {
	p.dst = append(p.dst, '-')
	p.fresh = false
	if p.isBlock(n) {
		p.inner(n, indent)
		return
	}
	p.dst = append(p.dst, ' ')
	p.scalar(n, indent+2)
}

// scalar prints a scalar or an empty list or map.
func (p *printer) scalar(n uint32, indent int) {
	p.fresh = false
	v := p.nodes[n]
	raw := p.src[v.start:v.end]
	switch v.kind {
	case json.Object:
		p.dst = append(p.dst, '{', '}')
	case json.Array:
		p.dst = append(p.dst, '[', ']')
	case json.Number:
		p.dst = appendNumber(p.dst, raw)
	case json.String:
		text := raw[1 : len(raw)-1]
		if v.flags != 0 {
			start := len(p.text)
			p.text = unescape(p.text, raw, v.flags)
			text = p.text[start:]
			defer func() { p.text = p.text[:start] }()
		}
		t := traits{}
		if len(text) > 0 {
			t = analyse(text)
		}
		p.string(text, t, indent, false)
	default:
		p.dst = append(p.dst, raw...)
	}
}

// string prints a text. A simple key is never folded.
func (p *printer) string(text []byte, t traits, indent int, simple bool) {
	p.fresh = false
	st := styleOf(text, t)
	if st == literal {
		if p.dst, p.fresh = appendLiteral(p.dst, text, t, indent, p.limit); p.fresh {
			p.bol = len(p.dst)
		}
		return
	}
	mark := len(p.dst)
	folds := t.breaks && st == single || !simple && t.spaced && mark-p.bol+len(text) > maxWidth
	switch {
	case folds:
	case st == plain:
		p.dst = append(p.dst, text...)
	case st == single:
		p.dst = appendSingle(p.dst, text)
	case st == double:
		p.dst = appendDouble(p.dst, text)
	}
	// Quotes and escapes may make the text wider than maxWidth.
	if folds || !simple && t.spaced && len(p.dst)-p.bol > maxWidth {
		p.dst = p.dst[:mark]
		column := utf8.RuneCount(p.dst[p.bol:])
		p.dst = appendFolded(p.dst, text, st, column, indent, p.limit)
	}
}

// unescape appends the text of a string. The apiserver reads the JSON with its YAML parser, for
// which a raw U+0085 is a line break, so the parser decides how such a string is folded.
func unescape(dst, quoted []byte, t json.StringFlags) []byte {
	if t&json.NonASCII != 0 && bytes.Contains(quoted, nextLine) {
		if folded, err := sigsyaml.YAMLToJSON(quoted); err == nil {
			dst, _ = json.Value(bytes.TrimSpace(folded)).AppendText(dst)
			return dst
		}
	}
	return json.AppendUnquoted(dst, quoted[1:len(quoted)-1])
}

var nextLine = []byte("\u0085")

// appendNumber prints a number: integers that fit int64 or uint64 unchanged, and other numbers in
// the shortest spelling of the float64. Numbers beyond float64 are strings to the apiserver.
func appendNumber(dst, raw []byte) []byte {
	v := json.Value(raw)
	if n, ok := v.Int(); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	s := unsafe.String(&raw[0], len(raw)) // does not escape
	if fits(raw, 10, false, true) {
		return append(dst, raw...)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return append(dst, raw...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}
