package json

// members iterates over the members of one object. It is the inner loop of every lookup by name, so
// it is a cursor rather than a function with a callback.
type members struct {
	b   []byte
	pos int  // index of the next token
	bad bool // the object is malformed at pos

	name  Value // a string
	plain bool  // the name is its raw bytes
	val   Value
	start int // index in b of val
}

// membersOf iterates over b. If b is not an object there are no members and bad is set.
func membersOf(b []byte) members {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return members{b: b, pos: i, bad: true}
	}
	return members{b: b, pos: skipSpace(b, i+1)}
}

// next moves to the next member and reports whether there is one. After the last, bad reports
// whether the object was malformed, and pos is the index of the closing brace.
func (m *members) next() bool {
	b, i := m.b, m.pos
	if m.bad || i >= len(b) || b[i] != '"' {
		m.bad = m.bad || i >= len(b) || b[i] != '}'
		return false
	}
	end, t := SkipString(b, i)
	if end < 0 {
		return m.fail(i)
	}
	m.name, m.plain = b[i:end:end], t == 0
	i = skipSpace(b, end)
	if i >= len(b) || b[i] != ':' {
		return m.fail(i)
	}
	m.start = skipSpace(b, i+1)
	if end = skipValue(b, m.start); end < 0 {
		return m.fail(m.start)
	}
	m.val = Value(b[m.start:end:end])
	i = skipSpace(b, end)
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

// is reports whether the name of the current member is name.
func (m *members) is(name string) bool {
	return string(m.key()) == name
}

// key returns the name of the current member, unescaped.
func (m *members) key() []byte {
	if m.plain {
		return m.name[1 : len(m.name)-1 : len(m.name)-1]
	}
	key, _ := m.name.Bytes()
	return key
}
