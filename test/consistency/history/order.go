package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// order answers what time says about versions: which must have existed at a
// moment, and which cannot.
type order struct {
	told   []told  // versions ever higher, by the time since when they are known to exist
	begun  []Write // versioned writes by the time when they began
	lowest []int   // for each of begun, the index of the lowest version from there on
}

// told is a version and who was told it when.
type told struct {
	at      Tick
	version uint64
	by      fmt.Stringer
}

func newOrder(c *checker) *order {
	h := c.history
	var all []told
	for i := range h.Writes {
		w := &h.Writes[i]
		all = append(all, told{w.Ended, w.Version, w})
	}
	for i := range h.Reads {
		r := &h.Reads[i]
		all = append(all, told{r.Ended, r.version(), r})
	}
	for i := range h.Gets {
		if g := &h.Gets[i]; g.Object != nil {
			all = append(all, told{g.Ended, g.Object.Version, g})
		}
	}
	for i := range h.Watches {
		for j := range h.Watches[i].Items {
			item := &h.Watches[i].Items[j]
			all = append(all, told{item.At, item.Version, watched{&h.Watches[i], item}})
		}
	}
	return &order{told: rising(all), begun: byBeginning(h.Writes), lowest: lowestAfter(byBeginning(h.Writes))}
}

// watched is an item with the watch that it came on.
type watched struct {
	watch *Watch
	item  *Item
}

func (w watched) String() string { return fmt.Sprintf("%s: %s", w.watch, w.item) }

// rising keeps of all that was told only what was higher than anything before.
func rising(all []told) []told {
	slices.SortStableFunc(all, func(a, b told) int { return cmp.Compare(a.at, b.at) })
	kept := all[:0]
	for _, t := range all {
		if len(kept) == 0 || t.version > kept[len(kept)-1].version {
			kept = append(kept, t)
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

// floor is the highest version that was told to anybody before the moment;
// version 0 if none was.
func (o *order) floor(before Tick) told {
	i := sort.Search(len(o.told), func(i int) bool { return o.told[i].at >= before })
	if i == 0 {
		return told{}
	}
	return o.told[i-1]
}

// ceiling is the lowest version that was made by a write which began after the
// moment: it did not exist then.
func (o *order) ceiling(after Tick) (version uint64, write *Write) {
	i := sort.Search(len(o.begun), func(i int) bool { return o.begun[i].Began > after })
	if i == len(o.begun) {
		return math.MaxUint64, nil
	}
	write = &o.begun[o.lowest[i]]
	return write.Version, write
}
