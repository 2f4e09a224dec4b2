package history

import (
	"cmp"
	"fmt"
	"slices"
)

// watches judges all lines of events.
func (c *checker) watches() {
	for i := range c.history.Watches {
		w := &c.history.Watches[i]
		(&follower{checker: c, watch: w, expected: c.expected(w.Scope), told: w.From}).follow()
	}
}

// follower goes along a watch and the events that it has to show.
type follower struct {
	*checker
	watch    *Watch
	expected []Event
	next     int    // index of the event that is due
	told     uint64 // version up to which the client was told everything
	item     int    // index of the item that is looked at
}

// follow stops at the first thing that is wrong: what comes after it follows
// from it.
func (f *follower) follow() {
	f.next = f.find(f.told + 1)
	for f.item = range f.watch.Items {
		item := &f.watch.Items[f.item]
		right := f.event
		if item.Type == Bookmark {
			right = f.bookmark
		}
		if !right(item) || !f.inTime(item) {
			return
		}
		f.told = item.Version
	}
	if f.next < len(f.expected) && f.expected[f.next].Version <= f.watch.Until {
		f.wrong(Unfinished, fmt.Sprintf("%s never came, nor what follows up to %d", f.expected[f.next], f.watch.Until))
	}
}

// find returns the index of the first expected event not before the version.
func (f *follower) find(version uint64) int {
	i, _ := slices.BinarySearchFunc(f.expected, version, func(e Event, v uint64) int { return cmp.Compare(e.Version, v) })
	return i
}

func (f *follower) bookmark(item *Item) bool {
	if item.Version < f.told {
		return f.wrong(Lie, fmt.Sprintf("%s goes back from %d", item, f.told))
	}
	if f.next < len(f.expected) && f.expected[f.next].Version <= item.Version {
		return f.wrong(Lie, fmt.Sprintf("%s, but %s has not come", item, f.expected[f.next]))
	}
	return true
}

func (f *follower) event(item *Item) bool {
	if item.Version <= f.told {
		return f.wrong(f.lateness(item), fmt.Sprintf("%s after version %d", item, f.told))
	}
	if f.next == len(f.expected) || f.expected[f.next].Version > item.Version {
		return f.wrong(Invented, fmt.Sprintf("%s never happened", item))
	}
	due := f.expected[f.next]
	if due.Version < item.Version {
		return f.wrong(Gap, fmt.Sprintf("%s came, but not %s", item, due))
	}
	if due.Type != item.Type || !due.Object.equal(item.Object) {
		return f.wrong(Content, fmt.Sprintf("%s %s, it was %s %s", item, item.Object.full(), due.Type, due.Object.full()))
	}
	f.next++
	return true
}

// lateness tells what an event is that comes after a version not before its
// own.
func (f *follower) lateness(item *Item) Kind {
	if item.Version <= f.watch.From {
		return Repeated
	}
	for _, before := range f.watch.Items[:f.item] {
		if before.Type != Bookmark && before.Version == item.Version {
			return Repeated
		}
	}
	if f.item > 0 && f.watch.Items[f.item-1].Type == Bookmark {
		return Lie
	}
	return Reordered
}

func (f *follower) inTime(item *Item) bool {
	lowest, write := f.order.ceiling(item.At)
	if lowest <= item.Version {
		return f.wrong(Future, fmt.Sprintf("%s, but %d did not yet exist: %s", item, lowest, write))
	}
	return true
}

// wrong reports and returns false.
func (f *follower) wrong(kind Kind, text string) bool {
	excerpt := []string{f.watch.String()}
	items := f.watch.Items
	var from, to Tick
	for _, item := range items[max(0, f.item-nearEvents):min(len(items), f.item+nearEvents+1)] {
		excerpt = append(excerpt, "told: "+item.String())
		if from == 0 {
			from = item.At
		}
		to = item.At
	}
	version := f.told
	if len(items) > 0 {
		version = items[f.item].Version
	}
	f.report(kind, to, text, append(excerpt, f.around(from, to, version)...))
	return false
}
