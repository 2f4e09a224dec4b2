package json

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// AppendMetadataOnly appends obj cut down to its metadata, byte for byte as
// the apiserver prints it when asked for as=PartialObjectMetadata:
//
//	{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{…}}
//
// apiVersion is meta.k8s.io/v1 or meta.k8s.io/v1beta1. obj may come from a
// typed resource (members in the order of the Go struct) or from a custom one
// (members sorted); metadata comes out in the order of metav1.ObjectMeta with
// what that type omits left out: empty strings, maps and lists, members it
// does not know. The spec is not looked at beyond finding its end, and not
// even that if metadata stands before it.
//
// The error is ErrNotObject, ErrFieldType naming the field, or ErrSyntax;
// dst is then returned unchanged.
func AppendMetadataOnly(dst, obj []byte, apiVersion string) ([]byte, error) {
	base := len(dst)
	m := membersOf(obj)
	if m.bad {
		return dst, at(ErrNotObject, "object", m.pos)
	}
	dst = append(dst, `{"kind":"PartialObjectMetadata","apiVersion":`...)
	dst = AppendString(dst, apiVersion)
	dst = append(dst, `,"metadata":`...)
	for m.next() {
		if !m.is("metadata") {
			continue
		}
		out, err := appendStruct(dst, m.val, &objectMeta, "metadata")
		if err != nil {
			return dst[:base], err
		}
		return append(out, '}'), nil
	}
	if m.bad {
		return dst[:base], at(ErrSyntax, "object", m.pos)
	}
	return append(dst, `{}}`...), nil
}

// structure describes one of the Go structs that metadata is made of.
type structure []field

type field struct {
	name   string
	quoted string // `"name":`
	always bool   // printed even when empty
	form   func(dst []byte, v Value, path string) (out []byte, printed bool, err error)
}

// maxFields is the length of the longest structure.
const maxFields = 15

func fieldOf(name string, form func([]byte, Value, string) ([]byte, bool, error)) field {
	return field{name: name, quoted: string(AppendString(nil, name)) + ":", form: form}
}

func alwaysOf(name string, form func([]byte, Value, string) ([]byte, bool, error)) field {
	f := fieldOf(name, form)
	f.always = true
	return f
}

// The structs in the order of their fields (apimachinery v0.36,
// meta/v1/types.go).
var (
	ownerReference = structure{
		alwaysOf("apiVersion", appendText), alwaysOf("kind", appendText), alwaysOf("name", appendText), alwaysOf("uid", appendText),
		fieldOf("controller", appendBool), fieldOf("blockOwnerDeletion", appendBool),
	}
	managedFields = structure{
		fieldOf("manager", appendText), fieldOf("operation", appendText), fieldOf("apiVersion", appendText), fieldOf("time", appendTime),
		fieldOf("fieldsType", appendText), fieldOf("fieldsV1", appendRaw), fieldOf("subresource", appendText),
	}
	objectMeta = structure{
		fieldOf("name", appendText), fieldOf("generateName", appendText), fieldOf("namespace", appendText), fieldOf("selfLink", appendText),
		fieldOf("uid", appendText), fieldOf("resourceVersion", appendText), fieldOf("generation", appendPositive),
		fieldOf("creationTimestamp", appendCreation), fieldOf("deletionTimestamp", appendTime), fieldOf("deletionGracePeriodSeconds", appendInt),
		fieldOf("labels", appendMap), fieldOf("annotations", appendMap), fieldOf("ownerReferences", appendOwners),
		fieldOf("finalizers", appendTexts), fieldOf("managedFields", appendManaged),
	}
)

// find returns the index of the field with the current member's name, or -1.
// It begins at the field after the last one found, which is right for every
// member when they come in the struct's order.
func (s structure) find(m *members, from int) int {
	for n := range s {
		i := from + n
		if i >= len(s) {
			i -= len(s)
		}
		if m.is(s[i].name) {
			return i
		}
	}
	return -1
}

// appendStruct appends an object as its Go struct prints it. Null and an
// absent value print as the zero struct.
func appendStruct(dst []byte, v Value, s *structure, path string) ([]byte, error) {
	var vals [maxFields]Value
	if v.Kind() != Null {
		m := membersOf(v)
		if m.bad {
			return dst, wrongType(path, v)
		}
		for from := 0; m.next(); {
			if i := s.find(&m, from); i >= 0 {
				vals[i] = m.val
				from = i + 1
			}
		}
		if m.bad {
			return dst, at(ErrSyntax, path, m.pos)
		}
	}
	return appendFields(dst, &vals, s, path)
}

func appendFields(dst []byte, vals *[maxFields]Value, s *structure, path string) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for i := range *s {
		f := &(*s)[i]
		v := vals[i]
		if !f.always && (v == nil || v.Kind() == Null) {
			continue
		}
		mark := len(dst)
		dst = append(appendComma(dst, first), f.quoted...)
		if v == nil {
			v = null
		}
		out, printed, err := f.form(dst, v, f.name)
		if err != nil {
			return dst, fmt.Errorf("%s: %w", path, err)
		}
		if dst = out; !printed && !f.always {
			dst = dst[:mark]
			continue
		}
		first = false
	}
	return append(dst, '}'), nil
}

var null = Value("null")

func wrongType(path string, v Value) error {
	return fmt.Errorf("%s is %s: %w", path, v.Kind(), ErrFieldType)
}

func appendText(dst []byte, v Value, path string) ([]byte, bool, error) {
	dst, ok := appendCanonical(dst, v)
	if !ok {
		return dst, false, wrongType(path, v)
	}
	return dst, len(v) > 2, nil // not ""
}

func appendBool(dst []byte, v Value, path string) ([]byte, bool, error) {
	if _, ok := v.Bool(); !ok {
		return dst, false, wrongType(path, v)
	}
	return append(dst, v...), true, nil
}

func appendInt(dst []byte, v Value, path string) ([]byte, bool, error) {
	n, ok := v.Int()
	if !ok {
		return dst, false, wrongType(path, v)
	}
	if n == 0 {
		return append(dst, '0'), true, nil // also for -0
	}
	return append(dst, v...), true, nil
}

// appendPositive is appendInt for a field that is left out when zero.
func appendPositive(dst []byte, v Value, path string) ([]byte, bool, error) {
	n, _ := v.Int()
	dst, _, err := appendInt(dst, v, path)
	return dst, n != 0, err
}

// appendTime prints a metav1.Time: UTC, whole seconds, null for the zero time.
func appendTime(dst []byte, v Value, path string) ([]byte, bool, error) {
	if isUTC(v) && string(v) != `"0001-01-01T00:00:00Z"` {
		return append(dst, v...), true, nil
	}
	text, ok := v.Text()
	if !ok {
		return dst, false, wrongType(path, v)
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return dst, false, wrongType(path, v)
	}
	if t.IsZero() {
		return append(dst, null...), true, nil
	}
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339)
	return append(dst, '"'), true, nil
}

// appendCreation is appendTime for a field that is left out when zero.
func appendCreation(dst []byte, v Value, path string) ([]byte, bool, error) {
	mark := len(dst)
	dst, _, err := appendTime(dst, v, path)
	return dst, string(dst[mark:]) != "null", err
}

// isUTC tells for certain only when v is a time in the very form that it will
// be printed in. Days above 28 are left to time.Parse.
func isUTC(v Value) bool {
	const form = `"0000-00-00T00:00:00Z"`
	if len(v) != len(form) {
		return false
	}
	for i, c := range []byte(form) {
		if c == '0' && (v[i] < '0' || v[i] > '9') || c != '0' && v[i] != c {
			return false
		}
	}
	two := func(i int) int { return int(v[i]-'0')*10 + int(v[i+1]-'0') }
	month, day := two(6), two(9)
	return month >= 1 && month <= 12 && day >= 1 && day <= 28 && two(12) < 24 && two(15) < 60 && two(18) < 60
}

// appendRaw prints a metav1.FieldsV1: what was stored, compacted.
func appendRaw(dst []byte, v Value, _ string) ([]byte, bool, error) {
	dst, err := AppendCompact(dst, v)
	return dst, true, err
}

func appendTexts(dst []byte, v Value, path string) ([]byte, bool, error) {
	return appendList(dst, v, path, func(dst []byte, e Value) ([]byte, error) {
		dst, ok := appendCanonical(dst, e)
		if !ok {
			return dst, wrongType(path, e)
		}
		return dst, nil
	})
}

func appendOwners(dst []byte, v Value, path string) ([]byte, bool, error) {
	return appendList(dst, v, path, func(dst []byte, e Value) ([]byte, error) {
		return appendStruct(dst, e, &ownerReference, path)
	})
}

func appendManaged(dst []byte, v Value, path string) ([]byte, bool, error) {
	return appendList(dst, v, path, func(dst []byte, e Value) ([]byte, error) {
		return appendStruct(dst, e, &managedFields, path)
	})
}

func appendList(dst []byte, v Value, path string, one func([]byte, Value) ([]byte, error)) ([]byte, bool, error) {
	e := elementsOf(v)
	if v.Kind() != Array {
		return dst, false, wrongType(path, v)
	}
	dst = append(dst, '[')
	n := 0
	for ; e.next(); n++ {
		var err error
		if dst, err = one(appendComma(dst, n == 0), e.val); err != nil {
			return dst, false, err
		}
	}
	if e.bad {
		return dst, false, at(ErrSyntax, path, e.pos)
	}
	return append(dst, ']'), n > 0, nil
}

// appendMap prints a map of strings, its keys sorted. They are as a rule; if
// not, it starts over.
func appendMap(dst []byte, v Value, path string) ([]byte, bool, error) {
	m := membersOf(v)
	if v.Kind() != Object {
		return dst, false, wrongType(path, v)
	}
	base, n := len(dst), 0
	dst = append(dst, '{')
	var last []byte
	for ; m.next(); n++ {
		key := m.key()
		if n > 0 && bytes.Compare(last, key) >= 0 {
			return appendUnsorted(dst[:base], v, path)
		}
		last = key
		var ok bool
		dst = append(AppendString(appendComma(dst, n == 0), key), ':')
		if dst, ok = appendCanonical(dst, m.val); !ok {
			return dst, false, wrongType(path, m.val)
		}
	}
	if m.bad {
		return dst, false, at(ErrSyntax, path, m.pos)
	}
	return append(dst, '}'), n > 0, nil
}

// appendUnsorted is appendMap for keys in any order; of equal ones the last
// counts.
func appendUnsorted(dst []byte, v Value, path string) ([]byte, bool, error) {
	type pair struct {
		key []byte
		val Value
	}
	var pairs []pair
	m := membersOf(v)
	for m.next() {
		pairs = append(pairs, pair{m.key(), m.val})
	}
	if m.bad {
		return dst, false, at(ErrSyntax, path, m.pos)
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	dst = append(dst, '{')
	first := true
	for i, p := range pairs {
		if i+1 < len(pairs) && bytes.Equal(p.key, pairs[i+1].key) {
			continue
		}
		dst = append(AppendString(appendComma(dst, first), p.key), ':')
		first = false
		var ok bool
		if dst, ok = appendCanonical(dst, p.val); !ok {
			return dst, false, wrongType(path, p.val)
		}
	}
	return append(dst, '}'), true, nil
}
