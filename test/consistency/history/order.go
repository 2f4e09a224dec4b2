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
	observed []observation // with rising versions, by time
	begun    []Write       // with a version, by the time when they began
	lowest   []int         // for each index in begun, the index of the lowest version from there on
}

// observation is a version that a client received, and when.
type observation struct {
	at      Tick
	version uint64
	source  fmt.Stringer
}

func newOrder(c *checker) *order {
	h := c.history
	var all []observation
	for i := range h.Writes {
		w := &h.Writes[i]
		all = append(all, observation{w.Ended, w.Version, w})
	}
	for i := range h.Reads {
		r := &h.Reads[i]
		all = append(all, observation{r.Ended, r.version(), r})
	}
	for i := range h.Gets {
		if g := &h.Gets[i]; g.Object != nil {
			all = append(all, observation{g.Ended, g.Object.Version, g})
		}
	}
	for i := range h.Watches {
		for j := range h.Watches[i].Items {
			item := &h.Watches[i].Items[j]
			all = append(all, observation{item.At, item.Version, delivery{&h.Watches[i], item}})
		}
	}
	return &order{observed: rising(all), begun: byBeginning(h.Writes), lowest: lowestAfter(byBeginning(h.Writes))}
}

// delivery is an item with the watch that delivered it.
type delivery struct {
	watch *Watch
	item  *Item
}

func (w delivery) String() string { return fmt.Sprintf("%s: %s", w.watch, w.item) }

// rising sorts observations by time and keeps those with a higher version than all before.
func rising(all []observation) []observation {
	slices.SortStableFunc(all, func(a, b observation) int { return cmp.Compare(a.at, b.at) })
	kept := all[:0]
	for _, o := range all {
		if len(kept) == 0 || o.version > kept[len(kept)-1].version {
			kept = append(kept, o)
		}
	}
	return kept
}

func byBeginning(writes []Write) []Write {
	known := slices.DeleteFunc(slices.Clone(writes), func(w Write) bool { return w.Version == 0 })
	slices.SortFunc(known, func(a, b Write) int { return cmp.Compare(a.Began, b.Began) })
	return known
}

func lowestAfter(writes []Write) []int {
	lowest := make([]int, len(writes))
	for i := len(writes) - 1; i >= 0; i-- {
		lowest[i] = i
		if i+1 < len(writes) && writes[lowest[i+1]].Version < writes[i].Version {
			lowest[i] = lowest[i+1]
		}
	}
	return lowest
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
func (o *order) lowestWrittenAfter(after Tick) (version uint64, write *Write) {
	i := sort.Search(len(o.begun), func(i int) bool { return o.begun[i].Began > after })
	if i == len(o.begun) {
		return math.MaxUint64, nil
	}
	write = &o.begun[o.lowest[i]]
	return write.Version, write
}
