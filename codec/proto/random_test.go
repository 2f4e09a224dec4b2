package proto

import (
	"flag"
	"hash/fnv"
	"testing"
)

// fills is the number of random objects per kind.
var fills = flag.Int("fills", 5, "random objects per kind")

// kinds yields apiVersion and kind of every kind that Lookup knows, in no particular order.
func kinds(yield func(apiVersion, kind string) bool) {
	for n := range registered() {
		if !yield(n.apiVersion, n.kind) {
			return
		}
	}
}

// eachFilled calls f with random objects of every kind, as raw messages.
func eachFilled(t *testing.T, f func(t *testing.T, m *Schema, raw []byte)) {
	for apiVersion, kind := range kinds {
		t.Run(apiVersion+"/"+kind, func(t *testing.T) {
			m := mustLookup(t, apiVersion, kind)
			h := fnv.New64()
			h.Write([]byte(apiVersion + kind))
			for i := range *fills {
				obj := newObject(t, apiVersion, kind)
				newFiller(int64(h.Sum64()) + int64(i)).Fill(obj)
				f(t, m, raw(t, obj))
			}
		})
	}
}

func TestRandomObjectsEncodeToTheSameValues(t *testing.T) {
	eachFilled(t, func(t *testing.T, m *Schema, raw []byte) {
		checkJSON(t, m, raw)
		checkCBOR(t, m, raw)
	})
}
