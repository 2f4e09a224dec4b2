package discovery

import (
	"bytes"
	stdjson "encoding/json"
	"strconv"
	"sync/atomic"

	"sluice/codec/json"
)

// revision is one state of a CRD.
type revision struct {
	uid        string
	generation int64
	names      string // status.acceptedNames, as JSON
	spec       string // without printer columns, as JSON
	// seen is the newest resource version at which the CRD was found to be in this state.
	seen atomic.Pointer[string]
}

// revisionOf returns the revision of a CRD, or nil if the CRD cannot be read.
func revisionOf(crd json.Value) *revision {
	uid, ok := crd.Get("metadata", "uid").Bytes()
	generation, err := strconv.ParseInt(string(crd.Get("metadata", "generation")), 10, 64)
	if !ok || err != nil {
		return nil
	}
	text, err := withoutColumns(crd.Get("spec"))
	if err != nil {
		return nil
	}
	r := &revision{uid: string(uid), generation: generation, names: string(crd.Get("status", "acceptedNames")), spec: text}
	if version, ok := crd.Get("metadata", "resourceVersion").Text(); ok {
		r.seen.Store(&version)
	}
	return r
}

// withoutColumns returns the spec of a CRD without the printer columns of its versions.
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

// equal reports whether nothing has changed until now.
func (r *revision) equal(now *revision) bool {
	return now != nil && r.uid == now.uid && r.generation == now.generation && r.names == now.names
}

// onlyColumnsChanged reports whether now differs from r in printer columns only, by a single update:
// a revision between two updates may have pruned objects.
func (r *revision) onlyColumnsChanged(now *revision) bool {
	return now != nil && r.uid == now.uid && r.generation+1 == now.generation && r.names == now.names && r.spec == now.spec
}
