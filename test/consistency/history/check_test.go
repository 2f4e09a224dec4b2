package history

import (
	"slices"
	"testing"
)

// obj returns the red object n/<name> at a version.
func obj(name string, version uint64) *Object {
	return colored(name, version, "red")
}

func colored(name string, version uint64, color string) *Object {
	return &Object{
		Key: "n/" + name, UID: "uid of " + name, Version: version,
		Labels: map[string]string{"color": color}, Content: name + " is " + color,
	}
}

// example returns a history of this log, and of the writes that made it, one after the other:
//
//	10  a and b exist
//	20  c is created
//	30  a becomes blue
//	40  b is deleted
//	50  d is created
func example() *History {
	c, a, d := obj("c", 20), colored("a", 30, "blue"), obj("d", 50)
	return &History{
		Log: Log{
			Start: 10,
			State: []*Object{obj("a", 5), obj("b", 7)},
			Events: []Event{
				{Added, 20, c}, {Modified, 30, a}, {Deleted, 40, obj("b", 40)}, {Added, 50, d},
			},
		},
		Writes: []Write{
			{Client: "w", Verb: "PATCH", Key: "n/c", Version: 20, Began: 100, Ended: 110},
			{Client: "w", Verb: "PATCH", Key: "n/a", Version: 30, Began: 200, Ended: 210},
			{Client: "w", Verb: "DELETE", Key: "n/b", UID: "uid of b", Began: 300, Ended: 310},
			{Client: "w", Verb: "PATCH", Key: "n/d", Version: 50, Began: 400, Ended: 410},
		},
	}
}

var mostRecent = Consistency{MostRecent: true}

func list(version uint64, items ...*Object) Page {
	return Page{Version: version, Items: items, Source: "test"}
}

func consistent(client string, began, ended Tick, pages ...Page) Read {
	return Read{Client: client, Consistency: mostRecent, Began: began, Ended: ended, Pages: pages}
}

// late is a list after all writes.
func late(c Consistency, page Page) []Read {
	return []Read{{Client: "r", Consistency: c, Began: 420, Ended: 430, Pages: []Page{page}}}
}

func withMore(p Page, limit int, remaining int64) Page {
	p.Limit, p.More, p.Remaining = limit, true, &remaining
	return p
}

// States of the example at each version.
func at10() []*Object { return []*Object{obj("a", 5), obj("b", 7)} }
func at20() []*Object { return []*Object{obj("a", 5), obj("b", 7), obj("c", 20)} }
func at30() []*Object { return []*Object{colored("a", 30, "blue"), obj("b", 7), obj("c", 20)} }
func at40() []*Object { return []*Object{colored("a", 30, "blue"), obj("c", 20)} }
func at50() []*Object { return []*Object{colored("a", 30, "blue"), obj("c", 20), obj("d", 50)} }

// row is an answer, and the kinds of the violations in it, in any order.
type row[T any] struct {
	name   string
	answer T
	want   []Kind
}

// judge checks the example with the answer of each row, which record adds to it.
func judge[T any](t *testing.T, rows []row[T], record func(h *History, answer T)) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			h := example()
			record(h, r.answer)
			var got []Kind
			for _, v := range Check(h) {
				t.Log(v)
				got = append(got, v.Kind)
			}
			slices.Sort(got)
			slices.Sort(r.want)
			if !slices.Equal(got, r.want) {
				t.Errorf("found %q, want %q", got, r.want)
			}
		})
	}
}

func TestListsMustShowTheStateAtTheirVersion(t *testing.T) {
	judge(t, []row[[]Read]{
		{"most recent", []Read{consistent("r", 220, 230, list(30, at30()...))}, nil},
		{"most recent, version of another resource", []Read{consistent("r", 220, 230, list(33, at30()...))}, nil},
		{"during a write, the state before it", []Read{consistent("r", 205, 230, list(20, at20()...))}, nil},
		{"during a write, the state after it", []Read{consistent("r", 205, 230, list(30, at30()...))}, nil},
		{"misses an acknowledged update", []Read{consistent("r", 220, 230, list(20, at20()...))}, []Kind{Stale}},
		{"misses an acknowledged deletion", []Read{consistent("r", 320, 330, list(39, at30()...))}, []Kind{Stale}},
		{"old state under a new version", []Read{consistent("r", 220, 230, list(30, at20()...))}, []Kind{Content}},
		{"old state under a new version, without a creation", []Read{consistent("r", 120, 130, list(20, at10()...))}, []Kind{Missing}},
		{"old state under a new version, with what was deleted", []Read{consistent("r", 320, 330, list(40, at30()...))}, []Kind{Extra}},
		{"wrong content", []Read{consistent("r", 220, 230, list(30, colored("a", 30, "pink"), obj("b", 7), obj("c", 20)))}, []Kind{Content}},
		{"a client goes back", []Read{
			consistent("r", 205, 206, list(30, at30()...)), consistent("r", 207, 208, list(20, at20()...)),
		}, []Kind{Stale, TimeTravel}},
		{"a client goes back behind another", []Read{
			consistent("r", 205, 206, list(30, at30()...)), consistent("s", 207, 208, list(20, at20()...)),
		}, []Kind{Stale}},
		{"concurrent reads may differ", []Read{
			consistent("r", 205, 207, list(30, at30()...)), consistent("s", 206, 208, list(20, at20()...)),
		}, nil},
		{"from the future", []Read{consistent("r", 220, 230, list(41, at40()...))}, []Kind{Future}},
		{"any state may be old", late(Consistency{}, list(20, at20()...)), nil},
		{"any state must be consistent", late(Consistency{}, list(20, at50()...)), []Kind{Missing, Extra, Content}},
		{"not older", late(Consistency{NotOlderThan: 30}, list(40, at40()...)), nil},
		{"older", late(Consistency{NotOlderThan: 30}, list(20, at20()...)), []Kind{Version}},
		{"exact", late(Consistency{Exact: 30}, list(30, at30()...)), nil},
		{"exact with another version", late(Consistency{Exact: 30}, list(40, at40()...)), []Kind{Version}},
		{"objects out of order", []Read{consistent("r", 320, 330, list(40, obj("c", 20), colored("a", 30, "blue")))}, []Kind{Unordered}},
		{"object twice", []Read{consistent("r", 120, 130, list(20, append(at20(), obj("c", 20))...))}, []Kind{Duplicate}},
	}, func(h *History, reads []Read) { h.Reads = reads })
}

// scoped is a list of a scope at version 40.
func scoped(s Scope, items ...*Object) Read {
	r := consistent("r", 320, 330, list(40, items...))
	r.Scope = s
	return r
}

func TestListsMustShowTheirScope(t *testing.T) {
	red, blue := Scope{Labels: "color=red"}, Scope{Labels: "color in (blue)"}
	judge(t, []row[Read]{
		{"label", scoped(blue, colored("a", 30, "blue")), nil},
		{"object that no longer matches", scoped(red, obj("a", 5), obj("c", 20)), []Kind{Extra}},
		{"object that does not match", scoped(red, colored("a", 30, "blue"), obj("c", 20)), []Kind{Extra}},
		{"object missing", scoped(red), []Kind{Missing}},
		{"namespace", scoped(Scope{Namespace: "n"}, at40()...), nil},
		{"other namespace", scoped(Scope{Namespace: "m"}, at40()...), []Kind{Extra}},
		{"name", scoped(Scope{Fields: "metadata.name=c"}, obj("c", 20)), nil},
		{"no such name", scoped(Scope{Fields: "metadata.name=b"}), nil},
		{"all except a name", scoped(Scope{Fields: "metadata.name!=c"}, colored("a", 30, "blue")), nil},
	}, func(h *History, r Read) { h.Reads = []Read{r} })
}

func TestPagesMustBeOfOneState(t *testing.T) {
	a, c, d := colored("a", 30, "blue"), obj("c", 20), obj("d", 50)
	judge(t, []row[[]Page]{
		{"one state", []Page{withMore(list(50, a), 1, 2), withMore(list(50, c), 1, 1), list(50, d)}, nil},
		{"rest on the second page", []Page{withMore(list(50, a), 1, 2), list(50, c, d)}, nil},
		{"object missing", []Page{withMore(list(50, a), 1, 2), list(50, d)}, []Kind{Missing}},
		{"last page missing", []Page{withMore(list(50, a), 1, 2), withMore(list(50, c), 1, 1)}, []Kind{Missing}},
		{"object twice", []Page{withMore(list(50, a, c), 2, 1), list(50, c, d)}, []Kind{Duplicate}},
		{"versions differ", []Page{withMore(list(50, a), 1, 2), list(60, c, d)}, []Kind{PageState}},
		{"more than the limit", []Page{withMore(list(50, a, c), 1, 1), list(50, d)}, []Kind{PageSize}},
		{"wrong count", []Page{withMore(list(50, a), 1, 3), list(50, c, d)}, []Kind{PageSize}},
		{"count at the end", []Page{list(50, a, c), {Version: 50, Items: []*Object{d}, Remaining: new(int64)}}, []Kind{PageSize}},
		{"pages out of order", []Page{withMore(list(50, c), 1, 2), list(50, a, d)}, []Kind{Unordered}},
	}, func(h *History, pages []Page) { h.Reads = []Read{consistent("r", 420, 430, pages...)} })
}

// received returns the log's event at a version as an item.
func received(version uint64, at Tick) Item {
	events := example().Log.Events
	e := events[slices.IndexFunc(events, func(e Event) bool { return e.Version == version })]
	return item(e.Type, e.Object, at)
}

func item(typ Type, o *Object, at Tick) Item {
	return Item{Type: typ, Version: o.Version, Object: o, At: at}
}

func bookmark(version uint64, at Tick) Item { return Item{Type: Bookmark, Version: version, At: at} }

func TestWatchesMustDeliverEveryEventOnceInOrder(t *testing.T) {
	old := Item{Type: Deleted, Version: 40, Object: obj("b", 7), At: 303}
	red := Scope{Labels: "color=red"}
	judge(t, []row[Watch]{
		{"all", Watch{From: 10, Until: 50, Items: []Item{received(20, 101), received(30, 201), received(40, 301), received(50, 401)}}, nil},
		{"from the middle", Watch{From: 20, Items: []Item{received(30, 201), received(40, 301)}}, nil},
		{"with bookmarks", Watch{From: 10, Items: []Item{received(20, 101), bookmark(20, 102), bookmark(25, 103), received(30, 201), bookmark(39, 202)}}, nil},
		{"gap", Watch{From: 10, Items: []Item{received(20, 101), received(40, 301)}}, []Kind{Gap}},
		{"gap at the start", Watch{From: 10, Items: []Item{received(30, 201)}}, []Kind{Gap}},
		{"repetition", Watch{From: 10, Items: []Item{received(20, 101), received(20, 102)}}, []Kind{Repeated}},
		{"repetition of an earlier event", Watch{From: 10, Items: []Item{received(20, 101), received(30, 201), received(20, 202)}}, []Kind{Repeated}},
		{"event before the start", Watch{From: 20, Items: []Item{received(20, 101)}}, []Kind{Repeated}},
		{"late event", Watch{From: 10, Items: []Item{received(30, 201), received(20, 202)}}, []Kind{Gap}},
		{"bookmark before its events", Watch{From: 10, Items: []Item{received(20, 101), bookmark(35, 301), received(30, 302)}}, []Kind{FalseBookmark}},
		{"bookmark that goes back", Watch{From: 10, Items: []Item{received(20, 101), bookmark(15, 102)}}, []Kind{FalseBookmark}},
		{"bookmark before the start", Watch{From: 20, Items: []Item{bookmark(15, 102)}}, []Kind{FalseBookmark}},
		{"bookmark from the future", Watch{From: 30, Items: []Item{bookmark(45, 301), received(50, 401)}}, []Kind{FalseBookmark}},
		{"bookmark from the future of another scope", Watch{From: 30, Scope: Scope{Namespace: "m"}, Items: []Item{bookmark(45, 205)}}, []Kind{Future}},
		{"event that is not in the log", Watch{From: 20, Items: []Item{item(Modified, obj("b", 25), 202)}}, []Kind{Invented}},
		{"event with other content", Watch{From: 20, Items: []Item{item(Modified, colored("a", 30, "pink"), 202)}}, []Kind{Content}},
		{"event of another type", Watch{From: 20, Items: []Item{item(Added, colored("a", 30, "blue"), 202)}}, []Kind{Content}},
		{"deletion without content", Watch{From: 30, Items: []Item{item(Deleted, &Object{Key: "n/b", Version: 40}, 303)}}, []Kind{Content}},
		{"deletion with the old version", Watch{From: 30, Items: []Item{old}}, []Kind{Content}},
		{"last event missing", Watch{From: 20, Until: 50, Items: []Item{received(30, 201), received(40, 301)}}, []Kind{Incomplete}},
		{"all events missing", Watch{From: 20, Until: 50}, []Kind{Incomplete}},
		{"object no longer matches", Watch{From: 20, Scope: red, Items: []Item{item(Deleted, obj("a", 30), 202), received(40, 303)}}, nil},
		{"object no longer matches, with new content", Watch{From: 20, Scope: red, Items: []Item{item(Deleted, colored("a", 30, "blue"), 202)}}, []Kind{Content}},
		{"object no longer matches, event missing", Watch{From: 20, Scope: red, Items: []Item{received(40, 302)}}, []Kind{Gap}},
		{"object begins to match", Watch{From: 20, Scope: Scope{Labels: "color=blue"}, Items: []Item{
			item(Added, colored("a", 30, "blue"), 202), bookmark(49, 305),
		}}, nil},
	}, func(h *History, w Watch) { h.Watches = []Watch{w} })
}

func TestStreamingListsMustDeliverTheState(t *testing.T) {
	a, b, c := item(Added, obj("a", 5), 221), item(Added, obj("b", 7), 221), item(Added, obj("c", 20), 221)
	blue := item(Added, colored("a", 30, "blue"), 221)
	judge(t, []row[[]Item]{
		{"state", []Item{blue, b, c, bookmark(30, 222)}, nil},
		{"state and an event", []Item{a, b, c, received(30, 222), bookmark(30, 223)}, nil},
		{"too old", []Item{a, b, c, bookmark(20, 223)}, []Kind{Stale}},
		{"event missing", []Item{a, b, c, bookmark(30, 223)}, []Kind{Content}},
		{"object missing", []Item{blue, b, bookmark(30, 223)}, []Kind{Missing}},
		{"object twice", []Item{blue, b, b, c, bookmark(30, 223)}, []Kind{Duplicate}},
		{"event of a missing object", []Item{received(30, 222), b, c, bookmark(30, 223)}, []Kind{Invented}},
		{"bookmark among the initial events", []Item{blue, bookmark(20, 221), b, c, bookmark(30, 223)}, []Kind{FalseBookmark}},
	}, func(h *History, items []Item) {
		h.Reads = []Read{{Client: "r", Consistency: mostRecent, Began: 220, Ended: 230, Stream: items}}
	})
}

func TestGetsMustShowARevisionOfTheirTime(t *testing.T) {
	blue := colored("a", 30, "blue")
	judge(t, []row[Get]{
		{"most recent", Get{Key: "n/a", Consistency: mostRecent, Began: 220, Ended: 230, Object: blue}, nil},
		{"too old", Get{Key: "n/a", Consistency: mostRecent, Began: 220, Ended: 230, Object: obj("a", 5)}, []Kind{Stale}},
		{"any", Get{Key: "n/a", Began: 220, Ended: 230, Object: obj("a", 5)}, nil},
		{"not older", Get{Key: "n/a", Consistency: Consistency{NotOlderThan: 25}, Began: 120, Ended: 130, Object: obj("a", 5)}, nil},
		{"older", Get{Key: "n/a", Consistency: Consistency{NotOlderThan: 30}, Began: 220, Ended: 230, Object: obj("a", 5)}, []Kind{Stale}},
		{"from the future", Get{Key: "n/a", Began: 120, Ended: 130, Object: blue}, []Kind{Future}},
		{"content that never existed", Get{Key: "n/a", Began: 220, Ended: 230, Object: colored("a", 30, "pink")}, []Kind{Content}},
		{"deleted", Get{Key: "n/b", Consistency: mostRecent, Began: 320, Ended: 330}, nil},
		{"deleted too early", Get{Key: "n/b", Began: 220, Ended: 230}, []Kind{Future}},
		{"not yet deleted", Get{Key: "n/b", Consistency: mostRecent, Began: 320, Ended: 330, Object: obj("b", 7)}, []Kind{Stale}},
		{"not yet created", Get{Key: "n/d", Consistency: mostRecent, Began: 320, Ended: 330}, nil},
		{"not found although created", Get{Key: "n/d", Consistency: mostRecent, Began: 420, Ended: 430}, []Kind{Stale}},
		{"never created", Get{Key: "n/x", Consistency: mostRecent, Began: 420, Ended: 430}, nil},
	}, func(h *History, g Get) { h.Gets = []Get{g} })
}

func TestLogMustHoldEveryWrite(t *testing.T) {
	judge(t, []row[func(*History)]{
		{"lost write", func(h *History) {
			h.Writes = append(h.Writes, Write{Verb: "PATCH", Key: "n/x", Version: 45, Began: 350, Ended: 351})
		}, []Kind{LostWrite}},
		{"lost deletion", func(h *History) {
			h.Writes = append(h.Writes, Write{Verb: "DELETE", Key: "n/c", UID: "uid of c", Began: 350, Ended: 351})
		}, []Kind{LostWrite}},
		{"out of order", func(h *History) { h.Log.Events[0].Version = 30 }, []Kind{InvalidHistory}},
		{"event of a missing object", func(h *History) { h.Log.State = nil }, []Kind{InvalidHistory}},
		{"bad selector", func(h *History) { h.Watches = []Watch{{Scope: Scope{Labels: "a in"}}} }, []Kind{InvalidHistory}},
	}, func(h *History, change func(*History)) { change(h) })
}
