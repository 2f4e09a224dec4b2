package resources

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// entries are the resources that were looked up.
type entries struct {
	mu sync.RWMutex
	m  map[schema.GroupVersionResource]*entry
}

// get returns the entry of a resource, nil if there is none.
func (e *entries) get(gvr schema.GroupVersionResource) *entry {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.m[gvr]
}

// set adds or, with nil, removes an entry.
func (e *entries) set(gvr schema.GroupVersionResource, to *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.m[gvr] = to; to == nil {
		delete(e.m, gvr)
	}
}

// all returns a copy of the entries.
func (e *entries) all() map[schema.GroupVersionResource]*entry {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return maps.Clone(e.m)
}
