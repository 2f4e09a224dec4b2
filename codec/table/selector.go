package table

import (
	"bytes"
	"slices"

	"sluice/codec/json"
)

// A term is one requirement of a label selector: key = value, or an expression.
type term struct {
	key, value []byte
	op         string // "" for key = value
	values     json.Value
}

// operators maps the operator of an expression to whether it takes values.
var operators = [...]struct {
	name   string
	values bool
}{
	{"In", true},
	{"NotIn", true},
	{"Exists", false},
	{"DoesNotExist", false},
}

// selectorCell prints a label selector in the syntax of queries.
func selectorCell(path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return r.appendSelector(dst, r.at(path)) })
}

// appendSelector appends a selector in the form of nearly all kinds.
func (r *row) appendSelector(dst []byte, selector json.Value) []byte {
	start := len(dst)
	dst, ok := r.appendTerms(dst, selector)
	switch {
	case !ok:
		return append(dst[:start], "<error>"...)
	case len(dst) == start:
		return append(dst, none...)
	}
	return dst
}

// appendTerms appends a selector's terms sorted by key; ok is false for an invalid selector.
func (r *row) appendTerms(dst []byte, selector json.Value) (out []byte, ok bool) {
	if !r.readTerms(selector) {
		return dst, false
	}
	slices.SortStableFunc(r.terms, func(a, b term) int { return bytes.Compare(a.key, b.key) })
	for i := range r.terms {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = r.appendTerm(dst, &r.terms[i])
	}
	return dst, true
}

// readTerms reads a selector's terms into r.terms and reports whether all are valid.
func (r *row) readTerms(selector json.Value) bool {
	r.terms = r.terms[:0]
	for key, v := range selector.Get("matchLabels").Members {
		t := term{key: key, value: bytesOf(v)}
		if !labelKey(t.key) || !labelValue(t.value) {
			return false
		}
		r.terms = append(r.terms, t)
	}
	for _, e := range selector.Get("matchExpressions").Elements {
		t, ok := readExpression(e)
		if !ok {
			return false
		}
		r.terms = append(r.terms, t)
	}
	return true
}

func readExpression(e json.Value) (t term, ok bool) {
	t.key, t.values = bytesOf(e.Get("key")), e.Get("values")
	for i := range operators {
		if o := &operators[i]; is(e.Get("operator"), o.name) {
			t.op, ok = o.name, o.values == (t.values.Len() > 0)
		}
	}
	if !ok || !labelKey(t.key) {
		return t, false
	}
	for _, v := range t.values.Elements {
		if !labelValue(bytesOf(v)) {
			return t, false
		}
	}
	return t, true
}

func (r *row) appendTerm(dst []byte, t *term) []byte {
	switch t.op {
	case "":
		return append(append(append(dst, t.key...), '='), t.value...)
	case "Exists":
		return append(dst, t.key...)
	case "DoesNotExist":
		return append(append(dst, '!'), t.key...)
	case "In":
		dst = append(append(dst, t.key...), " in ("...)
	case "NotIn":
		dst = append(append(dst, t.key...), " notin ("...)
	}
	return append(r.appendValues(dst, t.values), ')')
}

// appendValues appends the values of an expression in order. Duplicates are kept.
func (r *row) appendValues(dst []byte, values json.Value) []byte {
	r.parts = r.parts[:0]
	for _, v := range values.Elements {
		r.parts = append(r.parts, bytesOf(v))
	}
	sortParts(r.parts)
	for i, p := range r.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, p...)
	}
	return dst
}
