package discovery

import (
	"bytes"
	"crypto/sha256"
	stdjson "encoding/json"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/codec/json"
)

// revision is one state of a CRD.
type revision struct {
	uid        string
	generation int64
	names      string            // status.acceptedNames, as JSON
	spec       [sha256.Size]byte // without printer columns: it may be MiBs long
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
	spec, err := withoutColumns(crd.Get("spec"))
	if err != nil {
		return nil
	}
	r := &revision{uid: string(uid), generation: generation, names: string(crd.Get("status", "acceptedNames")), spec: spec}
	if version, ok := crd.Get("metadata", "resourceVersion").Text(); ok {
		r.seen.Store(&version)
	}
	return r
}

// withoutColumns returns the hash of the spec of a CRD without the printer columns of its versions.
func withoutColumns(spec json.Value) (sum [sha256.Size]byte, err error) {
	var s map[string]any
	in := stdjson.NewDecoder(bytes.NewReader(spec))
	in.UseNumber() // defaults and bounds must not be rounded
	if err := in.Decode(&s); err != nil {
		return sum, err
	}
	versions, _ := s["versions"].([]any)
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok {
			delete(version, "additionalPrinterColumns")
		}
	}
	out, err := stdjson.Marshal(s)
	return sha256.Sum256(out), err
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

// recent reports whether an apiserver may serve by an earlier generation of the CRD when it sends this revision, at a date of
// its own clock. It is true if that is not known: a client may remove managedFields, and updates then add none.
//
// A time in the future is recent, because another apiserver with another clock may have written it.
func (r *revision) recent(crd json.Value, date string) bool {
	if r.generation == 1 {
		return false
	}
	changed, known := time.Time{}, false
	for _, m := range crd.Get("metadata", "managedFields").Elements {
		if t := timeOf(m.Get("time")); !t.IsZero() {
			known = true
			if t.After(changed) {
				changed = t
			}
		}
	}
	now, err := http.ParseTime(date)
	return !known || err != nil || now.Sub(changed) < lag+time.Second // both are whole seconds
}

// timeOf returns a time of an object; zero if there is none.
func timeOf(v json.Value) time.Time {
	text, _ := v.Text()
	t, _ := time.Parse(time.RFC3339, text)
	return t
}
