package tree

import (
	"cmp"
	"slices"
)

// An index is a second tree over the objects of a store, ordered by the value of one field and then
// by key, so that the objects with one value are a range of it. Its entries point to the objects
// and share their data.

// indexKey returns the key of an entry. The separator NUL is smaller than any byte of a value or a
// key, so that entries are ordered by value first.
func indexKey(value string, k Key) Key { return Key(value + "\x00" + string(k)) }

// indexRange returns the range of the entries with one value whose objects are in r.
func indexRange(value string, r Range) Range {
	out := Range{From: indexKey(value, r.From), To: Key(value + "\x01")}
	if r.To != "" {
		out.To = indexKey(value, r.To)
	}
	return out
}

// indexEntry returns the entry of o.
func indexEntry(o *Object, field int) *Object {
	return &Object{Key: indexKey(o.Field(field), o.Key), Data: o.Data, of: o}
}

func buildIndex(objects []*Object, field int) *node {
	entries := make([]*Object, len(objects))
	for i, o := range objects {
		entries[i] = indexEntry(o, field)
	}
	slices.SortFunc(entries, func(a, b *Object) int { return cmp.Compare(a.Key, b.Key) })
	return build(entries)
}

// reindex returns the index after an event has replaced previous by next; either may be nil.
func reindex(index *node, field int, previous, next *Object) *node {
	if previous != nil && (next == nil || previous.Field(field) != next.Field(field)) {
		index = index.remove(indexKey(previous.Field(field), previous.Key))
	}
	if next != nil {
		index = index.put(indexEntry(next, field))
	}
	return index
}
