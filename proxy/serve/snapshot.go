package serve

import (
	"context"
	"iter"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/serve/outcome"
)

// snapshot returns the state that a list shows and why it is recent enough (wire.md 4.3, 4.4).
func (p *plan) snapshot(ctx context.Context) (*cache.Snapshot, outcome.Hit, error) {
	if p.match == matchExact {
		state, err := p.past(ctx)
		return state, outcome.PastVersion, err
	}
	reason, err := p.ensureFresh(ctx, true)
	if err != nil {
		return nil, "", err
	}
	if p.match == matchMostRecent {
		return p.resource.Store.Whole(), reason, nil
	}
	return p.resource.Store.Snapshot(), reason, nil
}

// list is the content of a list response.
type list struct {
	meta  metav1.ListMeta
	runs  iter.Seq[tree.Run]
	count int
	bytes int64 // of the objects as they are stored; an estimate if the list is not selected
}

// newList selects the content of a list from a snapshot.
func (p *plan) newList(state *cache.Snapshot) (*list, error) {
	l := &list{meta: metav1.ListMeta{ResourceVersion: strconv.FormatUint(state.Version, 10), ShardInfo: p.selection.shards}}
	s := p.selection
	s.keys.From = max(s.keys.From, p.pageStart)
	limit := int(p.options.Limit)
	if s.filter == nil {
		l.runs, l.count, l.bytes = state.Runs(s.keys), state.Count(s.keys), storedBytes(state, s.keys)
		if limit == 0 || l.count <= limit {
			return l, nil
		}
		l.count, l.bytes = 0, 0
		return l, l.continueAfter(l.selectRuns(l.runs, limit), p, state)
	}
	last := l.selectRuns(s.runs(state, p.indexes), limit)
	if limit == 0 || l.count < limit {
		return l, nil
	}
	return l, l.continueAfter(last, p, state)
}

// selectRuns takes the runs of the first objects, all if limit is 0, and returns the key of the last one.
func (l *list) selectRuns(all iter.Seq[tree.Run], limit int) (last tree.Key) {
	var runs []tree.Run
	for run := range all {
		if limit > 0 {
			run = run.First(limit - l.count)
		}
		runs, last = append(runs, run), run.Last().Key
		l.bytes += run.Bytes()
		if l.count += run.Len(); l.count == limit {
			break
		}
	}
	l.runs = slices.Values(runs)
	return last
}

// continueAfter sets the continue token if keys that the apiserver would read follow the last one of
// the page, whether they match the selectors of the list or not (wire.md 4.5).
func (l *list) continueAfter(last tree.Key, p *plan, state *cache.Snapshot) error {
	rest := tree.Range{From: last + "\x00", To: p.selection.keys.To}
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

func empty(objects iter.Seq[*tree.Object]) bool {
	for range objects {
		return false
	}
	return true
}
