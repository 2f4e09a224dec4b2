package list

import (
	"iter"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// contents is the content of a list response.
type contents struct {
	meta  metav1.ListMeta
	runs  iter.Seq[tree.Run]
	count int
	bytes int64 // of the objects as they are stored; an estimate if the list is not selected
}

// newContents selects the content of a list from a snapshot, by turns.
func newContents(p *plan.Plan, state *cache.Snapshot, work *flowcontrol.Work) (*contents, error) {
	l := &contents{meta: metav1.ListMeta{ResourceVersion: strconv.FormatUint(state.Version, 10), ShardInfo: p.Selection.Shards}}
	s := p.Selection
	s.Keys.From = max(s.Keys.From, p.PageStart)
	limit := int(p.Options.Limit)
	if s.Filter == nil {
		l.runs, l.count, l.bytes = state.Runs(s.Keys), state.Count(s.Keys), s.StoredBytes(state)
		if limit == 0 || l.count <= limit {
			return l, nil
		}
		l.count, l.bytes = 0, 0
	}
	last, err := l.selectRuns(s.Runs(state, p.Indexes), limit, work)
	if err != nil {
		return nil, err
	}
	if limit == 0 || l.count < limit {
		return l, nil
	}
	return l, l.continueAfter(last, p, state)
}

// selectRuns takes the runs of the first objects, all if limit is 0, and returns the key of the last one.
func (l *contents) selectRuns(all iter.Seq[tree.Run], limit int, work *flowcontrol.Work) (last tree.Key, err error) {
	var runs []tree.Run
	for run := range all {
		if err := work.Next(); err != nil {
			return "", err
		}
		if run.Set == 0 {
			continue
		}
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
	return last, nil
}

// continueAfter sets the continue token if visible keys that the apiserver would read follow the last one
// of the page, whether they match the selectors of the list or not (wire.md 4.5).
func (l *contents) continueAfter(last tree.Key, p *plan.Plan, state *cache.Snapshot) error {
	rest := tree.Range{From: last + "\x00", To: p.Selection.Keys.To}
	all, byIndex := p.Selection.Count(state, rest)
	remaining := int64(all)
	// The apiserver indexes these by the same field as the store, and only their newest state (wire.md 4.5).
	r := &p.Resource.Resource
	indexed := r.Style == codec.Typed && (r.Kind == "Pod" || r.Kind == "ResourceSlice") && p.Selection.Indexed != nil && p.Match != plan.MatchExact
	if remaining == 0 || indexed && byIndex == 0 {
		return nil
	}
	if p.Selection.Filter == nil {
		l.meta.RemainingItemCount = &remaining
	}
	token, err := p.ContinueToken(state.Version, last)
	if err != nil {
		return outcome.UnservedOptions
	}
	l.meta.Continue = token
	return nil
}
