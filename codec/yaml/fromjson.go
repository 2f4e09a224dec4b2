package yaml

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"sluice/codec/json"
)

// AppendFromJSON appends one JSON value as a YAML document that ends in a newline.
//
// For JSON in the form of encoding/json the bytes are those of the apiserver. The apiserver fails
// with status 500 for strings with a control character between U+007F and U+009F except U+0085, with
// U+FFFE or U+FFFF, and for names with U+0085 or of more than 1,020 characters as they are written in
// JSON; AppendFromJSON prints these as the emitter of yaml/v2 does.
//
// src must be well-formed; that is checked only as far as finding the ends of values needs. The
// error is json.ErrSyntax, json.ErrDepth, or json.ErrSize beyond 4 GiB or json.MaxIndented;
// dst is then returned unchanged.
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
		return dst, json.At(json.ErrSize, "YAML", json.MaxIndented(len(src)))
	}
	return p.dst, nil
}

// printer is the state of one conversion.
type printer struct {
	index
	output
	text    []byte   // scratch for unescaped names of all open objects, and one value
	members []member // the members of all open objects, sorted
}

// output is the text that is printed.
type output struct {
	dst   []byte
	fresh bool // dst ends at the start of a line
	bol   int  // index in dst of the start of the line
	limit int  // the length of dst beyond which lines are not indented any more, and the result is an error
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
func (o *output) endLine() {
	if !o.fresh {
		o.dst = append(o.dst, '\n')
		o.fresh, o.bol = true, len(o.dst)
	}
}

// line begins a line at the given indentation.
func (o *output) line(indent int) {
	o.endLine()
	o.pad(indent)
	o.fresh = false
}

// mapping prints a map that is not empty, beginning at the current column.
func (p *printer) mapping(n uint32, indent int) {
	p.fresh = false
	first, text := len(p.members), len(p.text)
	p.collect(n)
	last := len(p.members)
	for i := first; i < last && len(p.dst) <= p.limit; i++ {
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
		name := p.unquoted(i)
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
	slices.SortFunc(own, func(a, b member) int { return cmp.Or(compare(a.name, b.name), cmp.Compare(a.value, b.value)) })
	kept := own[:0]
	for i, m := range own {
		if i+1 == len(own) || !bytes.Equal(m.name, own[i+1].name) {
			kept = append(kept, m)
		}
	}
	p.members = p.members[:first+len(kept)]
}

// unquoted returns the text of the string at node n, which may alias p.text.
func (p *printer) unquoted(n uint32) []byte {
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
	p.fresh = false
	explicit := len(name) > maxSimple || bytes.ContainsFunc(name, isBreak)
	if explicit {
		p.dst = append(p.dst, '?', ' ')
		p.string(name, indent+2)
		p.line(indent)
	} else {
		p.string(name, 0)
	}
	p.dst = append(p.dst, ':')
	switch {
	case !p.isBlock(value):
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

// maxSimple is the length in bytes of the longest name that the emitter prints without a question mark.
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
	for i := n + 1; i < end && len(p.dst) <= p.limit; i = p.nodes[i].next {
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

// scalar prints a scalar or an empty list or map. Further lines have this indentation.
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
		p.number(raw)
	case json.String:
		mark := len(p.text)
		text := p.unquoted(n)
		if v.flags&json.NonASCII != 0 && bytes.Contains(raw, nextLine) {
			text = p.folded(raw, text)
		}
		p.string(text, indent)
		p.text = p.text[:mark]
	default:
		p.dst = append(p.dst, raw...)
	}
}

// number prints a number. One beyond 64 bits becomes a float, and one beyond a float is a text to the YAML parser.
func (p *printer) number(raw []byte) {
	if i, ok := json.Value(raw).Int(); ok {
		p.dst = strconv.AppendInt(p.dst, i, 10)
		return
	}
	f, ok := json.Value(raw).Float()
	if ok && !bytes.ContainsAny(raw, ".eE") {
		ok = !isInt(unsafe.String(&raw[0], len(raw)), 10) // which does not keep the string
	}
	if ok {
		p.dst = strconv.AppendFloat(p.dst, f, 'g', -1, 64)
	} else {
		p.dst = append(p.dst, raw...)
	}
}

// string prints a text. Further lines have this indentation; a name on the line of its value, whose indentation is 0, has none
// and is never folded.
func (p *printer) string(text []byte, indent int) {
	mark := ""
	st := styleOf(text)
	switch st {
	case literal:
		p.literal(text, indent)
		return
	case single:
		mark = "'"
	case double:
		mark = `"`
	}
	wide := len(p.dst)-p.bol+len(text)+2*len(mark) > maxWidth
	if st == rare || wide && indent > 0 && bytes.IndexByte(text, ' ') >= 0 {
		p.rare(text, indent)
		return
	}
	p.dst = append(append(append(p.dst, mark...), text...), mark...)
}

// literal prints a text of several lines as they are. The indicator behind the bar tells the line breaks at the end of the text:
// - for none, nothing for one, + for more.
func (p *printer) literal(s []byte, indent int) {
	p.dst = append(p.dst, '|')
	switch {
	case s[len(s)-1] != '\n':
		p.dst = append(p.dst, '-')
	case s[len(s)-2] == '\n':
		p.dst = append(p.dst, '+')
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(s, []byte{'\n'}), []byte{'\n'}) {
		p.dst = append(p.dst, '\n')
		if len(line) > 0 {
			p.pad(indent)
		}
		p.dst = append(p.dst, line...)
	}
}

const spaces = "                                                                "

// appendSpaces appends n spaces.
func appendSpaces(dst []byte, n int) []byte {
	for ; n > len(spaces); n -= len(spaces) {
		dst = append(dst, spaces...)
	}
	return append(dst, spaces[:n]...)
}
