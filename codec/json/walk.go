package json

// members iterates over the members of one object. It is the inner loop of every lookup by name, so
// it is a cursor rather than a function with a callback.
type members struct {
	b   []byte
	pos int  // index of the next token
	bad bool // the object is malformed at pos

	name   []byte      // raw, between the quotes
	flags  StringFlags // of the name
	nameAt int         // index in b of the name's opening quote
	val    Value
	start  int // index in b of val
}

// membersOf iterates over b. If b is not an object there are no members and bad is set.
func membersOf(b []byte) members { return membersAt(b, 0) }

// membersAt iterates over the object at b[i]. After the last member pos is the index of the closing
// brace.
func membersAt(b []byte, i int) members {
	i = SkipSpace(b, i)
	if i >= len(b) || b[i] != '{' {
		return members{b: b, pos: i, bad: true}
	}
	return members{b: b, pos: SkipSpace(b, i+1)}
}

// next moves to the next member and reports whether there is one. After the last, bad reports
// whether the object was malformed.
func (m *members) next() bool {
	if !m.nextName() {
		return false
	}
	end := skipValue(m.b, m.start)
	if end < 0 {
		return m.fail(m.start)
	}
	m.val = Value(m.b[m.start:end:end])
	return m.after(end)
}

// nextName is next without a search for the end of the value: it does not set val. The caller finds
// the end by reading the value and must pass it to after.
func (m *members) nextName() bool {
	b, i := m.b, m.pos
	if m.bad || i >= len(b) || b[i] != '"' {
		m.bad = m.bad || i >= len(b) || b[i] != '}'
		return false
	}
	end, t := SkipString(b, i)
	if end < 0 {
		return m.fail(i)
	}
	m.nameAt, m.name, m.flags = i, b[i+1:end-1:end-1], t
	i = SkipSpace(b, end)
	if i >= len(b) || b[i] != ':' {
		return m.fail(i)
	}
	m.start = SkipSpace(b, i+1)
	return true
}

// after moves from the end i of a value to the next member.
func (m *members) after(i int) bool {
	b := m.b
	i = SkipSpace(b, i)
	switch {
	case i < len(b) && b[i] == ',':
		m.pos = SkipSpace(b, i+1)
		if m.pos >= len(b) || b[m.pos] != '"' {
			return m.fail(m.pos)
		}
	case i < len(b) && b[i] == '}':
		m.pos = i
	default:
		return m.fail(i)
	}
	return true
}

func (m *members) fail(i int) bool {
	m.pos, m.bad = i, true
	return false
}

// is reports whether the name of the current member is name.
func (m *members) is(name string) bool {
	if m.flags == 0 {
		return string(m.name) == name
	}
	return string(unquote(m.name, m.flags)) == name
}

// key returns the name of the current member, unescaped.
func (m *members) key() []byte { return unquote(m.name, m.flags) }

// elements iterates over the elements of one array, in the way of members.
type elements struct {
	b   []byte
	pos int
	bad bool

	val Value
}

func elementsOf(b []byte) elements { return elementsAt(b, 0) }

// elementsAt is membersAt for arrays.
func elementsAt(b []byte, i int) elements {
	i = SkipSpace(b, i)
	if i >= len(b) || b[i] != '[' {
		return elements{b: b, pos: i, bad: true}
	}
	return elements{b: b, pos: SkipSpace(b, i+1)}
}

func (e *elements) next() bool {
	if !e.more() {
		return false
	}
	end := skipValue(e.b, e.pos)
	if end < 0 {
		e.bad = true
		return false
	}
	e.val = Value(e.b[e.pos:end:end])
	return e.after(end)
}

// more reports whether there is another element, which then begins at pos. The caller finds its end
// by reading it and must pass that to after.
func (e *elements) more() bool {
	i := e.pos
	e.bad = e.bad || i >= len(e.b)
	return !e.bad && e.b[i] != ']'
}

// after moves from the end i of an element to the next.
func (e *elements) after(i int) bool {
	b := e.b
	i = SkipSpace(b, i)
	switch {
	case i < len(b) && b[i] == ']':
		e.pos = i
	case i < len(b) && b[i] == ',':
		e.pos = SkipSpace(b, i+1)
		e.bad = e.pos >= len(b) || b[e.pos] == ']'
	default:
		e.bad = true
	}
	return !e.bad
}
