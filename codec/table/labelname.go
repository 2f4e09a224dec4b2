package table

import "bytes"

// The apiserver checks a selector's keys and values when it prints it, and
// old objects may hold what is no longer allowed.

const (
	maxLabelName   = 63
	maxLabelPrefix = 253
)

// labelKey reports whether k is a valid label key: a name, perhaps with a DNS
// subdomain and a slash before it.
func labelKey(k []byte) bool {
	if prefix, name, ok := bytes.Cut(k, []byte{'/'}); ok {
		return subdomain(prefix) && labelName(name)
	}
	return labelName(k)
}

// labelValue reports whether v is a valid label value.
func labelValue(v []byte) bool { return len(v) == 0 || labelName(v) }

// labelName reports whether n is 1 to 63 letters, digits, '-', '_' and '.'
// with a letter or digit at either end.
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

// subdomain reports whether s is a DNS subdomain in lower case.
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
