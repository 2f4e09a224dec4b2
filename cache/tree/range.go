package tree

// Range is the half-open interval of keys [From, To). The zero Range holds every key; an empty To
// is no upper limit.
type Range struct {
	From, To Key
}

// Namespace returns the range of the keys in one namespace, or of every key when namespace is
// empty. The range includes the separator, so that the keys of namespace "ab" are not in the range
// of namespace "a".
func Namespace(namespace string) Range {
	if namespace == "" {
		return Range{}
	}
	return Range{From: Key(namespace + "/"), To: Key(namespace + "0")} // '0' follows '/'
}

// Single returns the range of one key.
func Single(k Key) Range {
	return Range{From: k, To: k + "\x00"}
}

// Contains reports whether k is in the range.
func (r Range) Contains(k Key) bool {
	return k >= r.From && (r.To == "" || k < r.To)
}
