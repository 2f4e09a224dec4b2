package tree

import (
	"strings"
	"sync/atomic"
	"unique"
)

// Key identifies an object of a resource: "namespace/name", or "name" when the resource is
// cluster-scoped. Keys are ordered by bytes, as in etcd and therefore in every list.
type Key string

// KeyOf joins namespace and name; an empty namespace means cluster-scoped.
func KeyOf(namespace, name string) Key {
	if namespace == "" {
		return Key(name)
	}
	return Key(namespace + "/" + name)
}

// Namespace returns the part before the slash, or "" for a cluster-scoped key.
func (k Key) Namespace() string {
	ns, _, namespaced := strings.Cut(string(k), "/")
	if !namespaced {
		return ""
	}
	return ns
}

// Name returns the part after the slash, or the whole key when it is cluster-scoped.
func (k Key) Name() string {
	return string(k[strings.IndexByte(string(k), '/')+1:])
}

// Object is one cached object. It must not be changed after it was handed to a store.
type Object struct {
	Key    Key
	RV     uint64   // metadata.resourceVersion
	Data   []byte   // the object as the apiserver encoded it; the object owns the memory
	Labels []Label  // in ascending order of keys; see SetLabels
	Fields []string // values of the resource's selectable fields, in the order of the resource

	copied int // bytes of the text of labels that is a copy of the object's own

	of   *Object       // of an index entry: the object that it stands for
	hash atomic.Uint64 // memo of Hash; 0 means not computed
}

// Field returns the value of the selectable field at a position, "" if the object does not have it.
func (o *Object) Field(position int) string {
	if position >= len(o.Fields) {
		return ""
	}
	return o.Fields[position]
}

// target returns the object that an entry of an index stands for; any other object is its own.
func (o *Object) target() *Object {
	if o.of != nil {
		return o.of
	}
	return o
}

// Hash returns the hash of the object that selects its shard. The first call computes it; compute
// must always return the same value for an object.
func (o *Object) Hash(compute func(*Object) uint64) uint64 {
	if h := o.hash.Load(); h != 0 {
		return h
	}
	h := compute(o)
	o.hash.Store(h)
	return h
}

// objectOverhead is the memory of an object besides the content of its slices, in bytes: the struct
// and its pointer in a segment.
const objectOverhead = 136

// Size returns about how many bytes of memory the object takes, without strings that it shares.
func (o *Object) Size() int64 {
	if o == nil {
		return 0
	}
	n := len(o.Data) + len(o.Key) + 32*len(o.Labels) + o.copied + 16*len(o.Fields)
	for _, value := range o.Fields {
		if len(value) > internMax {
			n += len(value)
		}
	}
	return int64(n) + objectOverhead
}

// objectMemory is about how much memory an object takes besides its data, with a few labels and
// fields, in bytes.
const objectMemory = objectOverhead + 234

// beyond returns how many bytes an object takes besides its data and objectMemory, as one of many labels does.
func (o *Object) beyond() int64 {
	if o == nil {
		return 0
	}
	return max(0, o.Size()-int64(len(o.Data))-objectMemory)
}

// internMax is the greatest length of strings that Intern shares: longer ones are rarely equal.
const internMax = 128

// Intern returns b as a string that shares its memory with equal interned strings. The memory is
// freed when no string uses it any more. It is not that of b.
func Intern[T string | []byte](b T) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > internMax {
		return strings.Clone(string(b))
	}
	return unique.Make(string(b)).Value()
}

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
