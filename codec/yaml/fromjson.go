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

// AppendFromJSON appends one JSON value as a YAML document, ending in a
// newline.
//
// For JSON as encoding/json prints it this is byte for byte what the
// apiserver prints. The apiserver fails, with status 500, where a string has
// an unescaped control character between U+007F and U+009F other than U+0085,
// or U+FFFE or U+FFFF, and where a name is longer than 1024 bytes; here these
// come out as its emitter would print them.
//
// The error is ErrJSON or ErrDepth; dst is then returned unchanged.
func AppendFromJSON(dst, src []byte) ([]byte, error) {
	return convert(dst, src, (*printer).document)
}

// AppendItem appends one JSON value as an element of a list that is a member
// of the document's outermost map, such as a list's items:
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

// AppendMember appends one member of the document's outermost map. Members
// must be appended in the order of their names; an item-by-item list is
// begun by appending its name, a colon and a newline.
//
// Errors are those of AppendFromJSON.
func AppendMember(dst []byte, name string, src []byte) ([]byte, error) {
	return convert(dst, src, func(p *printer) {
		p.member(unsafe.Slice(unsafe.StringData(name), len(name)), 0, 0) // only read
		p.endLine()
	})
}

var printers = sync.Pool{New: func() any { return new(printer) }}

// convert runs one printer over src.
func convert(dst, src []byte, run func(*printer)) ([]byte, error) {
	p := printers.Get().(*printer)
	defer p.release()
	if err := p.build(src); err != nil {
		return dst, err
	}
	p.dst, p.fresh, p.bol = dst, true, len(dst)
	run(p)
	return p.dst, nil
}

// printer is one run over one document.
type printer struct {
	index
	dst     []byte
	text    []byte   // unescaped text, of all names that are needed now and one value
	members []member // of all objects that are open
	fresh   bool     // the output stands at the start of a line
	bol     int      // where in dst the line began, before any folding
}

// member is one member of an object while it is being sorted.
type member struct {
	name  []byte // text
	value uint32 // node
}

// The most scratch that is kept for the next run.
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

// document prints node 0 as a whole.
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

// isBlock tells whether a node spans lines of its own: a list or map that is
// not empty.
func (p *printer) isBlock(n uint32) bool {
	v := p.nodes[n]
	return (v.kind == json.Object || v.kind == json.Array) && v.next > n+1
}

// endLine ends the line, unless the output already stands at one's start.
func (p *printer) endLine() {
	if !p.fresh {
		p.dst = append(p.dst, '\n')
		p.fresh, p.bol = true, len(p.dst)
	}
}

// line begins a line at the given indentation.
func (p *printer) line(indent int) {
	p.endLine()
	p.dst = appendSpaces(p.dst, indent)
	p.fresh = false
}

// mapping prints a map that is not empty; the output stands where its first
// name belongs.
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

// collect puts the members of an object on the stack, in order. Of equal
// names the last counts.
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

// name returns the text of the name at node n. Unescaped it lies in p.text.
func (p *printer) name(n uint32) []byte {
	v := p.nodes[n]
	raw := p.src[v.start+1 : v.end-1]
	if v.traits == 0 {
		return raw
	}
	start := len(p.text)
	p.text = json.AppendUnquoted(p.text, raw)
	return p.text[start:]
}

// member prints a name and its value at a map's indentation.
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

// maxSimple is the length in bytes of the longest name that is printed
// without a question mark.
const maxSimple = 128

// inner prints a list or map that begins on the line of the indicator before
// it.
func (p *printer) inner(n uint32, indent int) {
	p.dst = append(p.dst, ' ')
	if p.nodes[n].kind == json.Object {
		p.mapping(n, indent+2)
	} else {
		p.sequence(n, indent+2)
	}
}

// sequence prints a list that is not empty; the output stands where its first
// dash belongs.
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
		if v.traits != 0 {
			start := len(p.text)
			p.text = unescape(p.text, raw, v.traits)
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

// string prints a text. A key that is simple is never folded.
func (p *printer) string(text []byte, t traits, indent int, simple bool) {
	p.fresh = false
	st := styleOf(text, t)
	if st == literal {
		if p.dst, p.fresh = appendLiteral(p.dst, text, t, indent); p.fresh {
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
	// Quotes and escapes may have made it wider than it seemed.
	if folds || !simple && t.spaced && len(p.dst)-p.bol > maxWidth {
		p.dst = p.dst[:mark]
		column := utf8.RuneCount(p.dst[p.bol:])
		p.dst = appendFolded(p.dst, text, st, column, indent)
	}
}

// unescape appends the text of a string. A raw U+0085 is a line break to the
// YAML parser through which the apiserver reads the JSON: it folds it, in
// ways that only the parser itself knows.
func unescape(dst, quoted []byte, t json.Traits) []byte {
	if t&json.Wide != 0 && bytes.Contains(quoted, nextLine) {
		if folded, err := sigsyaml.YAMLToJSON(quoted); err == nil {
			dst, _ = json.Value(bytes.TrimSpace(folded)).AppendText(dst)
			return dst
		}
	}
	return json.AppendUnquoted(dst, quoted[1:len(quoted)-1])
}

var nextLine = []byte("\u0085")

// appendNumber prints a number: integers of up to 64 bits, signed or not, as
// they are, all others as Go prints the float64; beyond that type's range
// they are text to the apiserver.
func appendNumber(dst, raw []byte) []byte {
	v := json.Value(raw)
	if n, ok := v.Int(); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	s := unsafe.String(&raw[0], len(raw)) // not kept
	if fits(raw, 10, false, true) {
		return append(dst, raw...)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return append(dst, raw...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}
