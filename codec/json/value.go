package json

// Value is the raw bytes of one well-formed JSON value without surrounding
// space. Nil is no value: of kind Invalid, with nothing in it.
type Value []byte

// Kind is what sort of value a Value is.
type Kind byte

// The kinds. The zero Kind is that of an absent or malformed value.
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

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return kindNames[Invalid]
	}
	return kindNames[k]
}

// Kind tells from the first byte what v is.
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

// Get descends by member names and returns what is there, aliasing v. It is
// nil when a name is absent or something on the way is not an object. With
// an empty path it is v itself. Of members with equal names the first counts.
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

// Members yields the members of an object in their order, nothing for any
// other value. The key is text; it aliases v unless it was written with
// escapes. If the object is malformed the walk ends there.
func (v Value) Members(yield func(key []byte, v Value) bool) {
	for m := membersOf(v); m.next(); {
		if !yield(m.key(), m.val) {
			return
		}
	}
}

// Elements yields the elements of an array with their indices, nothing for
// any other value.
func (v Value) Elements(yield func(i int, v Value) bool) {
	e := elementsOf(v)
	for i := 0; e.next(); i++ {
		if !yield(i, e.val) {
			return
		}
	}
}

// Len returns the number of members of an object or elements of an array, 0
// for any other value. It walks the whole value.
func (v Value) Len() int {
	n := 0
	switch v.Kind() {
	case Object:
		for m := membersOf(v); m.next(); {
			n++
		}
	case Array:
		for e := elementsOf(v); e.next(); {
			n++
		}
	}
	return n
}

// Bool returns the value of true or false; ok tells whether v is one of them.
func (v Value) Bool() (b, ok bool) {
	switch string(v) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}
