package json

// members walks the members of one object. It is the loop under everything
// that looks for names, written without callbacks to stay cheap.
type members struct {
	b   []byte
	pos int // of the next thing to read
	bad bool

	name   []byte // raw, between the quotes
	traits traits // of the name
	nameAt int    // index in b of the name's opening quote
	val    Value
	start  int // of val in b
}

// membersOf begins a walk over b. A b that is no object walks over nothing
// and is bad.
func membersOf(b []byte) members {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return members{b: b, pos: i, bad: true}
	}
	return members{b: b, pos: skipSpace(b, i+1)}
}

// next moves to the next member and reports whether there is one. After the
// last, bad tells whether the walk ended at something that was not the
// object's end.
func (m *members) next() bool {
	b, i := m.b, m.pos
	if m.bad || i >= len(b) || b[i] != '"' {
		m.bad = m.bad || i >= len(b) || b[i] != '}'
		return false
	}
	end, t := skipString(b, i)
	if end < 0 {
		return m.fail(i)
	}
	m.nameAt, m.name, m.traits = i, b[i+1:end-1:end-1], t
	i = skipSpace(b, end)
	if i >= len(b) || b[i] != ':' {
		return m.fail(i)
	}
	m.start = skipSpace(b, i+1)
	if end = skipValue(b, m.start); end < 0 {
		return m.fail(m.start)
	}
	m.val = Value(b[m.start:end:end])
	return m.separate(skipSpace(b, end))
}

// separate steps over what stands between this member and the next.
func (m *members) separate(i int) bool {
	switch b := m.b; {
	case i < len(b) && b[i] == ',':
		m.pos = skipSpace(b, i+1)
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

// is reports whether the current member is called name.
func (m *members) is(name string) bool {
	if m.traits == 0 {
		return string(m.name) == name
	}
	return string(unquote(m.name, m.traits)) == name
}

// key returns the current member's name as text.
func (m *members) key() []byte { return unquote(m.name, m.traits) }

// elements walks the elements of one array, as members does an object's.
type elements struct {
	b   []byte
	pos int
	bad bool

	val Value
}

func elementsOf(b []byte) elements {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return elements{b: b, pos: i, bad: true}
	}
	return elements{b: b, pos: skipSpace(b, i+1)}
}

func (e *elements) next() bool {
	b, i := e.b, e.pos
	if e.bad || i >= len(b) || b[i] == ']' {
		e.bad = e.bad || i >= len(b)
		return false
	}
	end := skipValue(b, i)
	if end < 0 {
		e.bad = true
		return false
	}
	e.val = Value(b[i:end:end])
	i = skipSpace(b, end)
	switch {
	case i < len(b) && b[i] == ']':
		e.pos = i
	case i < len(b) && b[i] == ',':
		e.pos = skipSpace(b, i+1)
		e.bad = e.pos >= len(b) || b[e.pos] == ']'
	default:
		e.bad = true
	}
	return !e.bad
}
