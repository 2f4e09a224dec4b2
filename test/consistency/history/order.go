package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// order relates versions to time: which versions must have existed at a moment, and which cannot
// have existed.
type order struct {
	observed []observation // by time, each with a higher version than all before
	begun    []observation // the beginnings of writes, the last one first, each with a lower version than all before
}

// observation is a version that a client received or began to write, and when.
type observation struct {
	at      Tick
	version uint64
	source  fmt.Stringer
}

func newOrder(h *History) *order {
	var observed, begun []observation
	for i := range h.Writes {
		w := &h.Writes[i]
		observed = append(observed, observation{w.Ended, w.Version, w})
		if w.Version > 0 {
			begun = append(begun, observation{w.Began, w.Version, w})
		}
	}
	for i := range h.Reads {
		r := &h.Reads[i]
		observed = append(observed, observation{r.Ended, r.version(), r})
	}
	for i := range h.Gets {
		if g := &h.Gets[i]; g.Object != nil {
			observed = append(observed, observation{g.Ended, g.Object.Version, g})
		}
	}
	for i := range h.Watches {
		for j := range h.Watches[i].Items {
			item := &h.Watches[i].Items[j]
			observed = append(observed, observation{item.At, item.Version, delivery{&h.Watches[i], item}})
		}
	}
	slices.SortStableFunc(observed, func(a, b observation) int { return cmp.Compare(a.at, b.at) })
	slices.SortStableFunc(begun, func(a, b observation) int { return cmp.Compare(b.at, a.at) })
	return &order{records(observed, 1), records(begun, -1)}
}

// delivery is an item with the watch that delivered it.
type delivery struct {
	watch *Watch
	item  *Item
}

func (w delivery) String() string { return fmt.Sprintf("%s: %s", w.watch, w.item) }

// records returns the observations whose version is higher than all before, or with a sign of -1 lower.
func records(all []observation, sign int) []observation {
	var kept []observation
	for _, o := range all {
		if len(kept) == 0 || cmp.Compare(o.version, kept[len(kept)-1].version) == sign {
			kept = append(kept, o)
		}
	}
	return kept
}

// newestBefore returns the highest version that any client observed before the moment, version 0 if
// none did.
func (o *order) newestBefore(before Tick) observation {
	i := sort.Search(len(o.observed), func(i int) bool { return o.observed[i].at >= before })
	if i == 0 {
		return observation{}
	}
	return o.observed[i-1]
}

// lowestWrittenAfter returns the lowest version of the writes that began after the moment: it and
// higher versions did not exist then. The version is the greatest number if there is no such write.
func (o *order) lowestWrittenAfter(after Tick) observation {
	i := sort.Search(len(o.begun), func(i int) bool { return o.begun[i].at <= after })
	if i == 0 {
		return observation{version: math.MaxUint64}
	}
	return o.begun[i-1]
}
