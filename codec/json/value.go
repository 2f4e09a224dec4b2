package json

// Value is the raw bytes of one well-formed JSON value without surrounding space. A nil Value is
// absent: its kind is Invalid and it has no members.
type Value []byte

// Kind is the kind of a Value.
type Kind byte

// The kinds. Invalid stands for absent and malformed values.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"invalid", "null", "bool", "number", "string", "array", "object"}

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return kindNames[Invalid]
	}
	return kindNames[k]
}

// Kind returns the kind of v, judged by its first byte.
func (v Value) Kind() Kind {
	if len(v) == 0 {
		return Invalid
	}
	switch c := v[0]; {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return String
	case c == '-' || '0' <= c && c <= '9':
		return Number
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	}
	return Invalid
}

// Get returns the value at a path of member names, aliasing v. The result is nil if a name is
// absent or a value on the path is not an object, and v itself for an empty path. Of duplicate
// names the first counts.
func (v Value) Get(path ...string) Value {
	for _, name := range path {
		if v = v.member(name); v == nil {
			return nil
		}
	}
	return v
}

func (v Value) member(name string) Value {
	for m := membersOf(v); m.next(); {
		if m.is(name) {
			return m.val
		}
	}
	return nil
}

// Members yields the members of an object in their order, and nothing for other kinds. The key is
// unescaped and aliases v if that needs no change. Iteration ends where the object is malformed.
func (v Value) Members(yield func(key []byte, v Value) bool) {
	for m := membersOf(v); m.next(); {
		if !yield(m.key(), m.val) {
			return
		}
	}
}

// Elements yields the indices and elements of an array, and nothing for other kinds. Iteration ends where
// the array is malformed.
func (v Value) Elements(yield func(i int, v Value) bool) {
	at := skipSpace(v, 0)
	if at >= len(v) || v[at] != '[' {
		return
	}
	at = skipSpace(v, at+1)
	for i := 0; ; i++ {
		end := skipValue(v, at)
		if end < 0 { // the closing bracket, or malformed
			return
		}
		next := skipSpace(v, end)
		if next >= len(v) || v[next] != ',' && v[next] != ']' || !yield(i, v[at:end:end]) {
			return
		}
		if at = next; v[next] == ',' {
			at = skipSpace(v, next+1)
		}
	}
}

// Len returns the number of members of an object or elements of an array, and 0 for other kinds. It
// takes time linear in the length of v.
func (v Value) Len() (n int) {
	for range v.Elements {
		n++
	}
	for m := membersOf(v); m.next(); {
		n++
	}
	return n
}

// Bool returns the value of true or false; ok is false for other kinds.
func (v Value) Bool() (b, ok bool) {
	switch string(v) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}
