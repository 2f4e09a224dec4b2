package resources

import (
	"bytes"
	stdjson "encoding/json"
	"strconv"
	"time"

	"sluice/codec/json"
)

// edition is one state of a CRD.
type edition struct {
	uid        string
	generation int64
	names      string // the accepted ones, as JSON
	stored     string // as JSON, the spec without what is only printed
}

// settled is how long after a store was built the upstream surely knows the
// definition that it was built by. Until then a watch may come from a server
// that still prunes objects by the definition before.
const settled = time.Minute

// editionOf returns nil if the CRD does not tell.
func editionOf(crd json.Value) *edition {
	uid, ok := crd.Get("metadata", "uid").Bytes()
	generation, err := strconv.ParseInt(string(crd.Get("metadata", "generation")), 10, 64)
	if !ok || err != nil {
		return nil
	}
	stored, err := withoutColumns(crd.Get("spec"))
	if err != nil {
		return nil
	}
	return &edition{string(uid), generation, string(crd.Get("status", "acceptedNames")), stored}
}

// withoutColumns returns a CRD's spec without the columns of its versions.
func withoutColumns(spec json.Value) (string, error) {
	var s map[string]any
	in := stdjson.NewDecoder(bytes.NewReader(spec))
	in.UseNumber() // defaults and bounds must not be rounded
	if err := in.Decode(&s); err != nil {
		return "", err
	}
	versions, _ := s["versions"].([]any)
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok {
			delete(version, "additionalPrinterColumns")
		}
	}
	out, err := stdjson.Marshal(s)
	return string(out), err
}

// same reports whether nothing has changed since.
func (e *edition) same(now *edition) bool {
	return now != nil && e.uid == now.uid && e.generation == now.generation && e.names == now.names
}

// reprinted reports whether only columns have changed, in a single step: what
// lay between two steps may have pruned objects.
func (e *edition) reprinted(now *edition) bool {
	return now != nil && e.uid == now.uid && e.generation+1 == now.generation && e.names == now.names && e.stored == now.stored
}
