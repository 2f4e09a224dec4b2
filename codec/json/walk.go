package json

// members walks the members of one object. It is the loop under everything
// that looks for names, written without callbacks to stay cheap.
type members struct {
	b   []byte
	pos int // of the next thing to read
	bad bool

	name   []byte // raw, between the quotes
	traits Traits // of the name
	nameAt int    // index in b of the name's opening quote
	val    Value
	start  int // of val in b
}

// membersOf begins a walk over b. A b that is no object walks over nothing
// and is bad.
func membersOf(b []byte) members { return membersAt(b, 0) }

// membersAt begins a walk over the object that begins at b[i]. When it ends
// well, pos is the index of the closing brace.
func membersAt(b []byte, i int) members {
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != '{' {
		return members{b: b, pos: i, bad: true}
	}
	return members{b: b, pos: skipSpace(b, i+1)}
}

// next moves to the next member and reports whether there is one. After the
// last, bad tells whether the walk ended at something that was not the
// object's end.
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

// nextName is next without looking for the value's end: val is not set, and
// the caller, having found the end by reading the value, must call after.
func (m *members) nextName() bool {
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
	return true
}

// after steps over what stands between the value that ends at i and the next
// member.
func (m *members) after(i int) bool {
	b := m.b
	i = skipSpace(b, i)
	switch {
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

func elementsOf(b []byte) elements { return elementsAt(b, 0) }

// elementsAt is membersAt for arrays.
func elementsAt(b []byte, i int) elements {
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != '[' {
		return elements{b: b, pos: i, bad: true}
	}
	return elements{b: b, pos: skipSpace(b, i+1)}
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

// more reports whether there is another element, which then begins at pos.
// The caller, having found its end by reading it, must call after.
func (e *elements) more() bool {
	i := e.pos
	e.bad = e.bad || i >= len(e.b)
	return !e.bad && e.b[i] != ']'
}

// after steps over what stands between the element that ends at i and the
// next.
func (e *elements) after(i int) bool {
	b := e.b
	i = skipSpace(b, i)
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
