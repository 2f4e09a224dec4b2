package history

import (
	"cmp"
	"fmt"
	"slices"
)

// watches checks all watches.
func (c *checker) watches() {
	for i := range c.history.Watches {
		w := &c.history.Watches[i]
		(&follower{checker: c, watch: w, expected: c.expected(w.Scope), version: w.From}).follow()
	}
}

// follower compares the items of a watch with the expected events, one after the other.
type follower struct {
	*checker
	watch    *Watch
	expected []Event
	next     int    // index of the next expected event
	version  uint64 // version up to which the watch is complete
	item     int    // index of the present item
}

// follow stops at the first violation, because later ones may be its consequences.
func (f *follower) follow() {
	f.next = f.find(f.version + 1)
	for f.item = range f.watch.Items {
		item := &f.watch.Items[f.item]
		check := f.event
		if item.Type == Bookmark {
			check = f.bookmark
		}
		if !check(item) || !f.inTime(item) {
			return
		}
		f.version = item.Version
	}
	if f.next < len(f.expected) && f.expected[f.next].Version <= f.watch.Until {
		f.violation(Incomplete, fmt.Sprintf("%s was not delivered, nor any event after it up to %d", f.expected[f.next], f.watch.Until))
	}
}

// find returns the index of the first expected event not before the version.
func (f *follower) find(version uint64) int {
	i, _ := slices.BinarySearchFunc(f.expected, version, func(e Event, v uint64) int { return cmp.Compare(e.Version, v) })
	return i
}

func (f *follower) bookmark(item *Item) bool {
	if item.Version < f.version {
		return f.violation(FalseBookmark, fmt.Sprintf("%s goes back from %d", item, f.version))
	}
	if f.next < len(f.expected) && f.expected[f.next].Version <= item.Version {
		return f.violation(FalseBookmark, fmt.Sprintf("%s, but %s was not delivered", item, f.expected[f.next]))
	}
	return true
}

func (f *follower) event(item *Item) bool {
	if item.Version <= f.version {
		return f.violation(f.lateKind(item), fmt.Sprintf("%s after version %d", item, f.version))
	}
	if f.next == len(f.expected) || f.expected[f.next].Version > item.Version {
		return f.violation(Invented, fmt.Sprintf("%s is not in the log", item))
	}
	due := f.expected[f.next]
	if due.Version < item.Version {
		return f.violation(Gap, fmt.Sprintf("%s was delivered, but not %s", item, due))
	}
	if due.Type != item.Type || !due.Object.equal(item.Object) {
		return f.violation(Content, fmt.Sprintf("%s %s, want %s %s", item, item.Object.full(), due.Type, due.Object.full()))
	}
	f.next++
	return true
}

// lateKind returns the violation of an event whose version is not above the version of the watch.
func (f *follower) lateKind(item *Item) Kind {
	if item.Version <= f.watch.From {
		return Repeated
	}
	for _, before := range f.watch.Items[:f.item] {
		if before.Type != Bookmark && before.Version == item.Version {
			return Repeated
		}
	}
	if f.item > 0 && f.watch.Items[f.item-1].Type == Bookmark {
		return FalseBookmark
	}
	return Reordered
}

func (f *follower) inTime(item *Item) bool {
	future := f.order.lowestWrittenAfter(item.At)
	if future.version <= item.Version {
		return f.violation(Future, fmt.Sprintf("%s, but %d did not exist yet: %s", item, future.version, future.source))
	}
	return true
}

// violation reports a violation and returns false.
func (f *follower) violation(kind Kind, text string) bool {
	excerpt := []string{f.watch.String()}
	items := f.watch.Items
	var from, to Tick
	for _, item := range items[max(0, f.item-nearEvents):min(len(items), f.item+nearEvents+1)] {
		excerpt = append(excerpt, "received: "+item.String())
		if from == 0 {
			from = item.At
		}
		to = item.At
	}
	version := f.version
	if len(items) > 0 {
		version = items[f.item].Version
	}
	f.report(kind, to, text, append(excerpt, f.around(from, to, version)...))
	return false
}
