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
			{Client: "w", Verb: "create", Key: "n/c", Version: 20, Began: 100, Ended: 110},
			{Client: "w", Verb: "update", Key: "n/a", Version: 30, Began: 200, Ended: 210},
			{Client: "w", Verb: "delete", Key: "n/b", UID: "uid of b", Began: 300, Ended: 310},
			{Client: "w", Verb: "create", Key: "n/d", Version: 50, Began: 400, Ended: 410},
		},
	}
}

func list(version uint64, items ...*Object) Page {
	return Page{Version: version, Items: items, Source: "test"}
}

func consistent(client string, began, ended Tick, pages ...Page) Read {
	return Read{Client: client, Consistency: Consistency{MostRecent: true}, Began: began, Ended: ended, Pages: pages}
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

func TestListsMustShowTheStateAtTheirVersion(t *testing.T) {
	for _, tc := range []struct {
		name  string
		reads []Read
		want  []Kind
	}{
		{"no reads", nil, nil},
		{"most recent", []Read{consistent("r", 220, 230, list(30, at30()...))}, nil},
		{"most recent, version of another resource", []Read{consistent("r", 220, 230, list(33, at30()...))}, nil},
		{"during a write, the state before it", []Read{consistent("r", 205, 230, list(20, at20()...))}, nil},
		{"during a write, the state after it", []Read{consistent("r", 205, 230, list(30, at30()...))}, nil},
		{"misses an acknowledged update", []Read{consistent("r", 220, 230, list(20, at20()...))}, []Kind{Stale}},
		{"misses an acknowledged creation", []Read{consistent("r", 120, 130, list(10, at10()...))}, []Kind{Stale}},
		{"misses an acknowledged deletion", []Read{consistent("r", 320, 330, list(39, at30()...))}, []Kind{Stale}},
		{"old state under a new version", []Read{consistent("r", 220, 230, list(30, at20()...))}, []Kind{Content}},
		{"old state under a new version, without a creation", []Read{consistent("r", 120, 130, list(20, at10()...))}, []Kind{Missing}},
		{"old state under a new version, with what was deleted", []Read{consistent("r", 320, 330, list(40, at30()...))}, []Kind{Extra}},
		{"new state under an old version", []Read{consistent("r", 190, 230, list(25, at30()...))}, []Kind{Content}},
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
		{"any state may be old", []Read{{Client: "r", Began: 420, Ended: 430, Pages: []Page{list(20, at20()...)}}}, nil},
		{"any state must be consistent", []Read{{Client: "r", Began: 420, Ended: 430, Pages: []Page{list(20, at50()...)}}}, []Kind{Missing, Extra, Content}},
		{"not older", []Read{{Client: "r", Consistency: Consistency{NotOlderThan: 30}, Began: 420, Ended: 430, Pages: []Page{list(40, at40()...)}}}, nil},
		{"older", []Read{{Client: "r", Consistency: Consistency{NotOlderThan: 30}, Began: 420, Ended: 430, Pages: []Page{list(20, at20()...)}}}, []Kind{Version}},
		{"exact", []Read{{Client: "r", Consistency: Consistency{Exact: 30}, Began: 420, Ended: 430, Pages: []Page{list(30, at30()...)}}}, nil},
		{"exact with another version", []Read{{Client: "r", Consistency: Consistency{Exact: 30}, Began: 420, Ended: 430, Pages: []Page{list(40, at40()...)}}}, []Kind{Version}},
		{"exact with the content of another", []Read{{Client: "r", Consistency: Consistency{Exact: 30}, Began: 420, Ended: 430, Pages: []Page{list(30, at40()...)}}}, []Kind{Missing}},
		{"objects out of order", []Read{consistent("r", 320, 330, list(40, obj("c", 20), colored("a", 30, "blue")))}, []Kind{Unordered}},
		{"object twice", []Read{consistent("r", 120, 130, list(20, append(at20(), obj("c", 20))...))}, []Kind{Duplicate}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := example()
			h.Reads = tc.reads
			expect(t, h, tc.want)
		})
	}
}

// expect compares the kinds of the violations, in any order.
func expect(t *testing.T, h *History, want []Kind) {
	t.Helper()
	var got []Kind
	for _, v := range Check(h) {
		t.Log(v)
		got = append(got, v.Kind)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestListsMustShowTheirScope(t *testing.T) {
	red, blue := Scope{Labels: "color=red"}, Scope{Labels: "color in (blue)"}
	for _, tc := range []struct {
		name  string
		scope Scope
		items []*Object
		want  []Kind
	}{
		{"label", blue, []*Object{colored("a", 30, "blue")}, nil},
		{"object that no longer matches", red, []*Object{obj("a", 5), obj("c", 20)}, []Kind{Extra}},
		{"object that does not match", red, []*Object{colored("a", 30, "blue"), obj("c", 20)}, []Kind{Extra}},
		{"object missing", red, nil, []Kind{Missing}},
		{"namespace", Scope{Namespace: "n"}, at40(), nil},
		{"other namespace", Scope{Namespace: "m"}, at40(), []Kind{Extra}},
		{"name", Scope{Fields: "metadata.name=c"}, []*Object{obj("c", 20)}, nil},
		{"no such name", Scope{Fields: "metadata.name=b"}, nil, nil},
		{"all except a name", Scope{Fields: "metadata.name!=c"}, []*Object{colored("a", 30, "blue")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := example()
			read := consistent("r", 320, 330, list(40, tc.items...))
			read.Scope = tc.scope
			h.Reads = []Read{read}
			expect(t, h, tc.want)
		})
	}
}

func TestPagesMustBeOfOneState(t *testing.T) {
	a, c, d := colored("a", 30, "blue"), obj("c", 20), obj("d", 50)
	for _, tc := range []struct {
		name  string
		pages []Page
		want  []Kind
	}{
		{"one state", []Page{withMore(list(50, a), 1, 2), withMore(list(50, c), 1, 1), list(50, d)}, nil},
		{"rest on the second page", []Page{withMore(list(50, a), 1, 2), list(50, c, d)}, nil},
		{"object missing", []Page{withMore(list(50, a), 1, 2), list(50, d)}, []Kind{Missing}},
		{"last page missing", []Page{withMore(list(50, a), 1, 2), withMore(list(50, c), 1, 1)}, []Kind{Missing}},
		{"object twice", []Page{withMore(list(50, a, c), 2, 1), list(50, c, d)}, []Kind{Duplicate}},
		{"versions differ", []Page{withMore(list(50, a), 1, 2), list(60, c, d)}, []Kind{PageState}},
		{"states differ", []Page{withMore(list(50, a), 1, 2), list(50, c)}, []Kind{Missing}},
		{"more than the limit", []Page{withMore(list(50, a, c), 1, 1), list(50, d)}, []Kind{PageSize}},
		{"wrong count", []Page{withMore(list(50, a), 1, 3), list(50, c, d)}, []Kind{PageSize}},
		{"count at the end", []Page{list(50, a, c), {Version: 50, Items: []*Object{d}, Remaining: new(int64)}}, []Kind{PageSize}},
		{"pages out of order", []Page{withMore(list(50, c), 1, 2), list(50, a, d)}, []Kind{Unordered}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := example()
			h.Reads = []Read{consistent("r", 420, 430, tc.pages...)}
			expect(t, h, tc.want)
		})
	}
}

// received returns the log's event at a version as an item, or a bookmark.
func received(version uint64, at Tick) Item {
	for _, e := range example().Log.Events {
		if e.Version == version {
			return Item{Type: e.Type, Version: version, Object: e.Object, At: at}
		}
	}
	return Item{Type: Bookmark, Version: version, At: at}
}

func bookmark(version uint64, at Tick) Item { return Item{Type: Bookmark, Version: version, At: at} }

func TestWatchesMustDeliverEveryEventOnceInOrder(t *testing.T) {
	blank := Item{Type: Deleted, Version: 40, Object: &Object{Key: "n/b", Version: 40}, At: 303}
	old := Item{Type: Deleted, Version: 40, Object: obj("b", 7), At: 303}
	for _, tc := range []struct {
		name  string
		watch Watch
		want  []Kind
	}{
		{"all", Watch{From: 10, Until: 50, Items: []Item{received(20, 101), received(30, 201), received(40, 301), received(50, 401)}}, nil},
		{"from the middle", Watch{From: 20, Items: []Item{received(30, 201), received(40, 301)}}, nil},
		{"with bookmarks", Watch{From: 10, Items: []Item{received(20, 101), bookmark(20, 102), bookmark(25, 103), received(30, 201), bookmark(39, 202)}}, nil},
		{"gap", Watch{From: 10, Items: []Item{received(20, 101), received(40, 301)}}, []Kind{Gap}},
		{"gap at the start", Watch{From: 10, Items: []Item{received(30, 201)}}, []Kind{Gap}},
		{"repetition", Watch{From: 10, Items: []Item{received(20, 101), received(20, 102)}}, []Kind{Repeated}},
		{"repetition after another stream", Watch{From: 10, Items: []Item{received(20, 101), received(30, 201), {Type: Added, Version: 20, Object: obj("c", 20), At: 202, Stream: 1}}}, []Kind{Repeated}},
		{"event before the start", Watch{From: 20, Items: []Item{received(20, 101)}}, []Kind{Repeated}},
		{"late event", Watch{From: 10, Items: []Item{received(30, 201), received(20, 202)}}, []Kind{Gap}},
		{"bookmark before its events", Watch{From: 10, Items: []Item{received(20, 101), bookmark(35, 301), received(30, 302)}}, []Kind{FalseBookmark}},
		{"bookmark whose events are not delivered", Watch{From: 10, Items: []Item{received(20, 101), bookmark(35, 301), received(40, 302)}}, []Kind{FalseBookmark}},
		{"bookmark that goes back", Watch{From: 10, Items: []Item{received(20, 101), bookmark(15, 102)}}, []Kind{FalseBookmark}},
		{"bookmark before the start", Watch{From: 20, Items: []Item{bookmark(15, 102)}}, []Kind{FalseBookmark}},
		{"bookmark from the future", Watch{From: 30, Items: []Item{bookmark(45, 301), received(50, 401)}}, []Kind{FalseBookmark}},
		{"bookmark from the future of another scope", Watch{From: 30, Scope: Scope{Namespace: "m"}, Items: []Item{bookmark(45, 205)}}, []Kind{Future}},
		{"event that is not in the log", Watch{From: 20, Items: []Item{{Type: Modified, Version: 25, Object: obj("b", 25), At: 202}}}, []Kind{Invented}},
		{"event with other content", Watch{From: 20, Items: []Item{{Type: Modified, Version: 30, Object: colored("a", 30, "pink"), At: 202}}}, []Kind{Content}},
		{"event of another type", Watch{From: 20, Items: []Item{{Type: Added, Version: 30, Object: colored("a", 30, "blue"), At: 202}}}, []Kind{Content}},
		{"deletion without content", Watch{From: 30, Items: []Item{blank}}, []Kind{Content}},
		{"deletion with the old version", Watch{From: 30, Items: []Item{old}}, []Kind{Content}},
		{"last event missing", Watch{From: 20, Until: 50, Items: []Item{received(30, 201), received(40, 301)}}, []Kind{Incomplete}},
		{"all events missing", Watch{From: 20, Until: 50}, []Kind{Incomplete}},
		{"object no longer matches", Watch{From: 20, Scope: Scope{Labels: "color=red"}, Items: []Item{
			{Type: Deleted, Version: 30, Object: obj("a", 30), At: 202}, received(40, 303),
		}}, nil},
		{"object no longer matches, with new content", Watch{From: 20, Scope: Scope{Labels: "color=red"}, Items: []Item{
			{Type: Deleted, Version: 30, Object: colored("a", 30, "blue"), At: 202},
		}}, []Kind{Content}},
		{"object no longer matches, event missing", Watch{From: 20, Scope: Scope{Labels: "color=red"}, Items: []Item{received(40, 302)}}, []Kind{Gap}},
		{"object begins to match", Watch{From: 20, Scope: Scope{Labels: "color=blue"}, Items: []Item{
			{Type: Added, Version: 30, Object: colored("a", 30, "blue"), At: 202}, bookmark(49, 305),
		}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := example()
			h.Watches = []Watch{tc.watch}
			expect(t, h, tc.want)
		})
	}
}

func added(o *Object, at Tick) Item {
	return Item{Type: Added, Version: o.Version, Object: o, At: at}
}

func TestStreamingListsMustDeliverTheState(t *testing.T) {
	a, b, c, blue := obj("a", 5), obj("b", 7), obj("c", 20), colored("a", 30, "blue")
	for _, tc := range []struct {
		name  string
		items []Item
		want  []Kind
	}{
		{"state", []Item{added(blue, 221), added(b, 221), added(c, 221), bookmark(30, 222)}, nil},
		{"state and an event", []Item{added(a, 221), added(b, 221), added(c, 221), received(30, 222), bookmark(30, 223)}, nil},
		{"too old", []Item{added(a, 221), added(b, 221), added(c, 221), bookmark(20, 223)}, []Kind{Stale}},
		{"event missing", []Item{added(a, 221), added(b, 221), added(c, 221), bookmark(30, 223)}, []Kind{Content}},
		{"object missing", []Item{added(blue, 221), added(b, 221), bookmark(30, 223)}, []Kind{Missing}},
		{"object twice", []Item{added(blue, 221), added(b, 221), added(b, 221), added(c, 221), bookmark(30, 223)}, []Kind{Duplicate}},
		{"event of a missing object", []Item{received(30, 222), added(b, 222), added(c, 222), bookmark(30, 223)}, []Kind{Invented}},
		{"bookmark among the initial events", []Item{added(blue, 221), bookmark(20, 221), added(b, 221), added(c, 221), bookmark(30, 223)}, []Kind{FalseBookmark}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := example()
			h.Reads = []Read{{Client: "r", Consistency: Consistency{MostRecent: true}, Began: 220, Ended: 230, Stream: tc.items}}
			expect(t, h, tc.want)
		})
	}
}

func TestGetsMustShowARevisionOfTheirTime(t *testing.T) {
	blue := colored("a", 30, "blue")
	for _, tc := range []struct {
		name string
		get  Get
		want []Kind
	}{
		{"most recent", Get{Key: "n/a", Consistency: Consistency{MostRecent: true}, Began: 220, Ended: 230, Object: blue}, nil},
		{"too old", Get{Key: "n/a", Consistency: Consistency{MostRecent: true}, Began: 220, Ended: 230, Object: obj("a", 5)}, []Kind{Stale}},
		{"any", Get{Key: "n/a", Began: 220, Ended: 230, Object: obj("a", 5)}, nil},
		{"not older", Get{Key: "n/a", Consistency: Consistency{NotOlderThan: 25}, Began: 120, Ended: 130, Object: obj("a", 5)}, nil},
		{"older", Get{Key: "n/a", Consistency: Consistency{NotOlderThan: 30}, Began: 220, Ended: 230, Object: obj("a", 5)}, []Kind{Stale}},
		{"from the future", Get{Key: "n/a", Began: 120, Ended: 130, Object: blue}, []Kind{Future}},
		{"content that never existed", Get{Key: "n/a", Began: 220, Ended: 230, Object: colored("a", 30, "pink")}, []Kind{Content}},
		{"deleted", Get{Key: "n/b", Consistency: Consistency{MostRecent: true}, Began: 320, Ended: 330}, nil},
		{"deleted too early", Get{Key: "n/b", Began: 220, Ended: 230}, []Kind{Future}},
		{"not yet deleted", Get{Key: "n/b", Consistency: Consistency{MostRecent: true}, Began: 320, Ended: 330, Object: obj("b", 7)}, []Kind{Stale}},
		{"not yet created", Get{Key: "n/d", Consistency: Consistency{MostRecent: true}, Began: 320, Ended: 330}, nil},
		{"not found although created", Get{Key: "n/d", Consistency: Consistency{MostRecent: true}, Began: 420, Ended: 430}, []Kind{Stale}},
		{"never created", Get{Key: "n/x", Consistency: Consistency{MostRecent: true}, Began: 420, Ended: 430}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := example()
			h.Gets = []Get{tc.get}
			expect(t, h, tc.want)
		})
	}
}

func TestLogMustHoldEveryWrite(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(h *History)
		want   []Kind
	}{
		{"lost write", func(h *History) {
			h.Writes = append(h.Writes, Write{Verb: "create", Key: "n/x", Version: 45, Began: 350, Ended: 351})
		}, []Kind{LostWrite}},
		{"lost deletion", func(h *History) {
			h.Writes = append(h.Writes, Write{Verb: "delete", Key: "n/c", UID: "uid of c", Began: 350, Ended: 351})
		}, []Kind{LostWrite}},
		{"out of order", func(h *History) { h.Log.Events[0].Version = 30 }, []Kind{InvalidHistory}},
		{"event of a missing object", func(h *History) { h.Log.State = nil }, []Kind{InvalidHistory}},
		{"bad selector", func(h *History) { h.Watches = []Watch{{Scope: Scope{Labels: "a in"}}} }, []Kind{InvalidHistory}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := example()
			tc.change(h)
			expect(t, h, tc.want)
		})
	}
}
