package table

import (
	"bytes"

	"sluice/codec/json"
)

// none is printed for an empty or absent value.
const none = "<none>"

// labelsCell prints a map of labels as "key=value" pairs, separated by commas.
func labelsCell(path ...string) cell {
	return quoted(func(dst []byte, r *row) []byte { return r.appendLabels(dst, r.at(path)) })
}

// appendLabels appends the pairs of a map, sorted as whole pairs and not by key:
// "app.kubernetes.io/name=x" comes before "app=x".
func (r *row) appendLabels(dst []byte, labels json.Value) []byte {
	r.parts = r.parts[:0]
	arena := r.scratch[:0]
	for key, v := range labels.Members {
		start := len(arena)
		arena = append(append(arena, key...), '=')
		arena = appendScalar(arena, v)
		r.parts = append(r.parts, arena[start:len(arena):len(arena)])
	}
	r.scratch = arena[:0]
	if len(r.parts) == 0 {
		return append(dst, none...)
	}
	return appendSorted(dst, r.parts)
}

// The apiserver validates a selector's keys and values when it prints the selector, and objects
// written by older versions may contain invalid ones.

const (
	maxLabelName   = 63
	maxLabelPrefix = 253
)

// labelKey reports whether k is a valid label key: a name, optionally after a DNS subdomain and a
// slash.
func labelKey(k []byte) bool {
	if prefix, name, ok := bytes.Cut(k, []byte{'/'}); ok {
		return subdomain(prefix) && labelName(name)
	}
	return labelName(k)
}

// labelValue reports whether v is a valid label value.
func labelValue(v []byte) bool { return len(v) == 0 || labelName(v) }

// labelName reports whether n consists of 1 to 63 letters, digits, '-', '_' and '.' and begins and
// ends with a letter or digit.
func labelName(n []byte) bool {
	if len(n) == 0 || len(n) > maxLabelName || !alphanumeric(n[0]) || !alphanumeric(n[len(n)-1]) {
		return false
	}
	for _, c := range n {
		if !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// subdomain reports whether s is a lower-case DNS subdomain.
func subdomain(s []byte) bool {
	if len(s) > maxLabelPrefix {
		return false
	}
	for label := range bytes.SplitSeq(s, []byte{'.'}) {
		if !dnsLabel(label) {
			return false
		}
	}
	return true
}

func dnsLabel(l []byte) bool {
	if len(l) == 0 || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	for _, c := range l {
		if c != '-' && (!alphanumeric(c) || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
