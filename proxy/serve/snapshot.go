package serve

import (
	"context"
	"iter"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/cache"
	"sluice/codec"
)

// snapshot returns the state that a list shows and why it is recent enough (wire.md 4.3, 4.4).
func (p *plan) snapshot(ctx context.Context) (*cache.Snapshot, hitReason, error) {
	if p.match == matchExact {
		state, err := p.past(ctx)
		return state, pastVersion, err
	}
	reason, err := p.ensureFresh(ctx, true)
	if err != nil {
		return nil, "", err
	}
	return p.resource.Store.Snapshot(), reason, nil
}

// list is the content of a list response: either the runs of a whole range of keys, or objects that
// were selected one by one.
type list struct {
	meta    metav1.ListMeta
	runs    iter.Seq[cache.Run] // nil if the objects were selected
	objects []*cache.Object
	count   int
	bytes   int64 // estimate of the stored bytes of runs
}

// newList selects the content of a list from a snapshot.
func (p *plan) newList(state *cache.Snapshot) (*list, error) {
	l := &list{meta: metav1.ListMeta{ResourceVersion: strconv.FormatUint(state.Version, 10), ShardInfo: p.selection.shards}}
	s := p.selection
	s.keys.From = max(s.keys.From, p.pageStart)
	if p.options.Limit == 0 && s.filter == nil {
		l.runs, l.count, l.bytes = state.Runs(s.keys), state.Count(s.keys), storedBytes(state, s.keys)
		return l, nil
	}
	limit := int(p.options.Limit)
	for o := range s.objects(state) {
		l.objects = append(l.objects, o)
		if len(l.objects) == limit {
			break
		}
	}
	l.count = len(l.objects)
	if limit == 0 || l.count < limit {
		return l, nil
	}
	return l, l.continueAfter(l.objects[l.count-1].Key, p, state)
}

// continueAfter sets the continue token if keys that the apiserver would read follow the last one of
// the page, whether they match the selectors of the list or not (wire.md 4.5).
func (l *list) continueAfter(last cache.Key, p *plan, state *cache.Snapshot) error {
	rest := cache.Range{From: last + "\x00", To: p.selection.keys.To}
	remaining := int64(state.Count(rest))
	if remaining == 0 || p.usesIndexUpstream() && empty(state.ByIndex(*p.selection.indexed, rest)) {
		return nil
	}
	if p.selection.filter == nil {
		l.meta.RemainingItemCount = &remaining
	}
	var err error
	l.meta.Continue, err = continueToken(state.Version, last, p.read.Namespace)
	return err
}

// usesIndexUpstream reports whether the apiserver reads the list from an index of its watch cache. It
// indexes built-in resources by the same field as the store, and only their newest state (wire.md 4.5).
func (p *plan) usesIndexUpstream() bool {
	return p.selection.indexed != nil && p.match != matchExact && p.resource.Resource.Style == codec.Typed
}

func empty(objects iter.Seq[*cache.Object]) bool {
	for range objects {
		return false
	}
	return true
}
