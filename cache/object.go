package cache

import (
	"strings"
	"sync/atomic"
)

// Key names one object within its resource: "namespace/name", or "name" when
// the resource is cluster-scoped. Keys are ordered as the bytes of the whole
// string, which is the order of etcd and so of every list.
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

// Name returns the object's name.
func (k Key) Name() string {
	return string(k[strings.IndexByte(string(k), '/')+1:])
}

// Object is one cached instance. It must not be changed after it was handed to
// a store.
type Object struct {
	Key    Key
	RV     uint64   // metadata.resourceVersion
	Data   []byte   // the upstream's bytes, in the encoding of the feed; owns its memory
	Labels []Label  // in ascending order of keys
	Fields []string // values of the fields that selectors may name, in the resource's order

	of   *Object       // in an index: the object that the entry stands for
	hash atomic.Uint64 // see Hash; 0 before it is known
}

// Label is one label of an object. Its strings are shared by objects that have
// the same; see Intern.
type Label struct{ Key, Value string }

// Label returns the value of a label.
func (o *Object) Label(key string) (value string, ok bool) {
	for _, l := range o.Labels { // few: a search would cost more
		if l.Key == key {
			return l.Value, true
		}
	}
	return "", false
}

// Hash returns what compute makes of the object, which must always be the same.
// It is kept, so that many watches of shards compute it once.
func (o *Object) Hash(compute func(*Object) uint64) uint64 {
	if h := o.hash.Load(); h != 0 {
		return h
	}
	h := compute(o)
	o.hash.Store(h)
	return h
}

// objectOverhead is what an object costs beside what its slices hold, in
// bytes: the struct and its pointer in a segment.
const objectOverhead = 120

// Size returns about how many bytes of memory the object keeps. Shared strings
// are not counted.
func (o *Object) Size() int64 {
	if o == nil {
		return 0
	}
	return int64(len(o.Data)+len(o.Key)+32*len(o.Labels)+16*len(o.Fields)) + objectOverhead
}
