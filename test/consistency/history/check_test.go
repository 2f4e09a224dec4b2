package history

import (
	"slices"
	"testing"
)

// obj is n/<name> at a version, red unless said otherwise.
func obj(name string, version uint64) *Object {
	return colored(name, version, "red")
}

func colored(name string, version uint64, color string) *Object {
	return &Object{
		Key: "n/" + name, UID: "uid of " + name, Version: version,
		Labels: map[string]string{"color": color}, Content: name + " is " + color,
	}
}

// past is a log to tell stories of:
//
//	10  a and b are there
//	20  c comes
//	30  a turns blue
//	40  b goes
//	50  d comes
//
// and of the writes that made it, one after the other.
func past() *History {
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

func fresh(client string, began, ended Tick, pages ...Page) Read {
	return Read{Client: client, Promise: Promise{Fresh: true}, Began: began, Ended: ended, Pages: pages}
}

func more(p Page, limit int, remaining int64) Page {
	p.Limit, p.More, p.Remaining = limit, true, &remaining
	return p
}

// States of past at some versions.
func at10() []*Object { return []*Object{obj("a", 5), obj("b", 7)} }
func at20() []*Object { return []*Object{obj("a", 5), obj("b", 7), obj("c", 20)} }
func at30() []*Object { return []*Object{colored("a", 30, "blue"), obj("b", 7), obj("c", 20)} }
func at40() []*Object { return []*Object{colored("a", 30, "blue"), obj("c", 20)} }
func at50() []*Object { return []*Object{colored("a", 30, "blue"), obj("c", 20), obj("d", 50)} }

func TestReads(t *testing.T) {
	for _, tc := range []struct {
		name  string
		reads []Read
		want  []Kind
	}{
		{"nothing", nil, nil},
		{"most recent", []Read{fresh("r", 220, 230, list(30, at30()...))}, nil},
		{"most recent, version of another resource", []Read{fresh("r", 220, 230, list(33, at30()...))}, nil},
		{"while a write is under way, before it", []Read{fresh("r", 205, 230, list(20, at20()...))}, nil},
		{"while a write is under way, after it", []Read{fresh("r", 205, 230, list(30, at30()...))}, nil},
		{"does not see an acknowledged update", []Read{fresh("r", 220, 230, list(20, at20()...))}, []Kind{Stale}},
		{"does not see an acknowledged creation", []Read{fresh("r", 120, 130, list(10, at10()...))}, []Kind{Stale}},
		{"does not see an acknowledged deletion", []Read{fresh("r", 320, 330, list(39, at30()...))}, []Kind{Stale}},
		{"old state under a new version", []Read{fresh("r", 220, 230, list(30, at20()...))}, []Kind{Content}},
		{"old state under a new version, without a creation", []Read{fresh("r", 120, 130, list(20, at10()...))}, []Kind{Missing}},
		{"old state under a new version, with what was deleted", []Read{fresh("r", 320, 330, list(40, at30()...))}, []Kind{Extra}},
		{"new state under an old version", []Read{fresh("r", 190, 230, list(25, at30()...))}, []Kind{Content}},
		{"wrong content", []Read{fresh("r", 220, 230, list(30, colored("a", 30, "pink"), obj("b", 7), obj("c", 20)))}, []Kind{Content}},
		{"a client goes back", []Read{
			fresh("r", 205, 206, list(30, at30()...)), fresh("r", 207, 208, list(20, at20()...)),
		}, []Kind{Stale, TimeTravel}},
		{"a client sees what another no longer does", []Read{
			fresh("r", 205, 206, list(30, at30()...)), fresh("s", 207, 208, list(20, at20()...)),
		}, []Kind{Stale}},
		{"two at once may differ", []Read{
			fresh("r", 205, 207, list(30, at30()...)), fresh("s", 206, 208, list(20, at20()...)),
		}, nil},
		{"from the future", []Read{fresh("r", 220, 230, list(41, at40()...))}, []Kind{Future}},
		{"any state may be old", []Read{{Client: "r", Began: 420, Ended: 430, Pages: []Page{list(20, at20()...)}}}, nil},
		{"any state must be one", []Read{{Client: "r", Began: 420, Ended: 430, Pages: []Page{list(20, at50()...)}}}, []Kind{Missing, Extra, Content}},
		{"not older", []Read{{Client: "r", Promise: Promise{AtLeast: 30}, Began: 420, Ended: 430, Pages: []Page{list(40, at40()...)}}}, nil},
		{"older", []Read{{Client: "r", Promise: Promise{AtLeast: 30}, Began: 420, Ended: 430, Pages: []Page{list(20, at20()...)}}}, []Kind{Version}},
		{"exact", []Read{{Client: "r", Promise: Promise{Exact: 30}, Began: 420, Ended: 430, Pages: []Page{list(30, at30()...)}}}, nil},
		{"exact with another version", []Read{{Client: "r", Promise: Promise{Exact: 30}, Began: 420, Ended: 430, Pages: []Page{list(40, at40()...)}}}, []Kind{Version}},
		{"exact with the content of another", []Read{{Client: "r", Promise: Promise{Exact: 30}, Began: 420, Ended: 430, Pages: []Page{list(30, at40()...)}}}, []Kind{Missing}},
		{"out of order", []Read{fresh("r", 320, 330, list(40, obj("c", 20), colored("a", 30, "blue")))}, []Kind{Disorder}},
		{"twice", []Read{fresh("r", 120, 130, list(20, append(at20(), obj("c", 20))...))}, []Kind{Duplicate}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := past()
			h.Reads = tc.reads
			expect(t, h, tc.want)
		})
	}
}

// expect compares the kinds of what is found, whatever their order.
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

func TestScopes(t *testing.T) {
	red, blue := Scope{Labels: "color=red"}, Scope{Labels: "color in (blue)"}
	for _, tc := range []struct {
		name  string
		scope Scope
		items []*Object
		want  []Kind
	}{
		{"label", blue, []*Object{colored("a", 30, "blue")}, nil},
		{"object that has left", red, []*Object{obj("a", 5), obj("c", 20)}, []Kind{Extra}},
		{"object outside", red, []*Object{colored("a", 30, "blue"), obj("c", 20)}, []Kind{Extra}},
		{"object left out", red, nil, []Kind{Missing}},
		{"namespace", Scope{Namespace: "n"}, at40(), nil},
		{"other namespace", Scope{Namespace: "m"}, at40(), []Kind{Extra}},
		{"name", Scope{Fields: "metadata.name=c"}, []*Object{obj("c", 20)}, nil},
		{"no such name", Scope{Fields: "metadata.name=b"}, nil, nil},
		{"all but a name", Scope{Fields: "metadata.name!=c"}, []*Object{colored("a", 30, "blue")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := past()
			read := fresh("r", 320, 330, list(40, tc.items...))
			read.Scope = tc.scope
			h.Reads = []Read{read}
			expect(t, h, tc.want)
		})
	}
}

func TestPages(t *testing.T) {
	a, c, d := colored("a", 30, "blue"), obj("c", 20), obj("d", 50)
	for _, tc := range []struct {
		name  string
		pages []Page
		want  []Kind
	}{
		{"one state", []Page{more(list(50, a), 1, 2), more(list(50, c), 1, 1), list(50, d)}, nil},
		{"rest at once", []Page{more(list(50, a), 1, 2), list(50, c, d)}, nil},
		{"object left out", []Page{more(list(50, a), 1, 2), list(50, d)}, []Kind{Missing}},
		{"last page left out", []Page{more(list(50, a), 1, 2), more(list(50, c), 1, 1)}, []Kind{Missing}},
		{"object twice", []Page{more(list(50, a, c), 2, 1), list(50, c, d)}, []Kind{Duplicate}},
		{"versions differ", []Page{more(list(50, a), 1, 2), list(60, c, d)}, []Kind{PageState}},
		{"states differ", []Page{more(list(50, a), 1, 2), list(50, c)}, []Kind{Missing}},
		{"more than the limit", []Page{more(list(50, a, c), 1, 1), list(50, d)}, []Kind{PageSize}},
		{"wrong count", []Page{more(list(50, a), 1, 3), list(50, c, d)}, []Kind{PageSize}},
		{"count at the end", []Page{list(50, a, c), {Version: 50, Items: []*Object{d}, Remaining: new(int64)}}, []Kind{PageSize}},
		{"pages out of order", []Page{more(list(50, c), 1, 2), list(50, a, d)}, []Kind{Disorder}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := past()
			h.Reads = []Read{fresh("r", 420, 430, tc.pages...)}
			expect(t, h, tc.want)
		})
	}
}

// tell makes an item of the log's event at the version, or a bookmark.
func tell(version uint64, at Tick) Item {
	for _, e := range past().Log.Events {
		if e.Version == version {
			return Item{Type: e.Type, Version: version, Object: e.Object, At: at}
		}
	}
	return Item{Type: Bookmark, Version: version, At: at}
}

func mark(version uint64, at Tick) Item { return Item{Type: Bookmark, Version: version, At: at} }

func TestWatches(t *testing.T) {
	blank := Item{Type: Deleted, Version: 40, Object: &Object{Key: "n/b", Version: 40}, At: 303}
	old := Item{Type: Deleted, Version: 40, Object: obj("b", 7), At: 303}
	for _, tc := range []struct {
		name  string
		watch Watch
		want  []Kind
	}{
		{"all", Watch{From: 10, Until: 50, Items: []Item{tell(20, 101), tell(30, 201), tell(40, 301), tell(50, 401)}}, nil},
		{"from the middle", Watch{From: 20, Items: []Item{tell(30, 201), tell(40, 301)}}, nil},
		{"with bookmarks", Watch{From: 10, Items: []Item{tell(20, 101), mark(20, 102), mark(25, 103), tell(30, 201), mark(39, 202)}}, nil},
		{"gap", Watch{From: 10, Items: []Item{tell(20, 101), tell(40, 301)}}, []Kind{Gap}},
		{"gap at the start", Watch{From: 10, Items: []Item{tell(30, 201)}}, []Kind{Gap}},
		{"repetition", Watch{From: 10, Items: []Item{tell(20, 101), tell(20, 102)}}, []Kind{Repeated}},
		{"repetition after another stream", Watch{From: 10, Items: []Item{tell(20, 101), tell(30, 201), {Type: Added, Version: 20, Object: obj("c", 20), At: 202, Stream: 1}}}, []Kind{Repeated}},
		{"what the client had", Watch{From: 20, Items: []Item{tell(20, 101)}}, []Kind{Repeated}},
		{"late event", Watch{From: 10, Items: []Item{tell(30, 201), tell(20, 202)}}, []Kind{Gap}},
		{"bookmark before its events", Watch{From: 10, Items: []Item{tell(20, 101), mark(35, 301), tell(30, 302)}}, []Kind{Lie}},
		{"bookmark whose events never come", Watch{From: 10, Items: []Item{tell(20, 101), mark(35, 301), tell(40, 302)}}, []Kind{Lie}},
		{"bookmark that goes back", Watch{From: 10, Items: []Item{tell(20, 101), mark(15, 102)}}, []Kind{Lie}},
		{"bookmark before the start", Watch{From: 20, Items: []Item{mark(15, 102)}}, []Kind{Lie}},
		{"bookmark from the future", Watch{From: 30, Items: []Item{mark(45, 301), tell(50, 401)}}, []Kind{Lie}},
		{"bookmark from the future of others", Watch{From: 30, Scope: Scope{Namespace: "m"}, Items: []Item{mark(45, 205)}}, []Kind{Future}},
		{"never happened", Watch{From: 20, Items: []Item{{Type: Modified, Version: 25, Object: obj("b", 25), At: 202}}}, []Kind{Invented}},
		{"happened otherwise", Watch{From: 20, Items: []Item{{Type: Modified, Version: 30, Object: colored("a", 30, "pink"), At: 202}}}, []Kind{Content}},
		{"other type", Watch{From: 20, Items: []Item{{Type: Added, Version: 30, Object: colored("a", 30, "blue"), At: 202}}}, []Kind{Content}},
		{"deletion without content", Watch{From: 30, Items: []Item{blank}}, []Kind{Content}},
		{"deletion under the old version", Watch{From: 30, Items: []Item{old}}, []Kind{Content}},
		{"never ends", Watch{From: 20, Until: 50, Items: []Item{tell(30, 201), tell(40, 301)}}, []Kind{Unfinished}},
		{"tells nothing", Watch{From: 20, Until: 50}, []Kind{Unfinished}},
		{"leaves the scope", Watch{From: 20, Scope: Scope{Labels: "color=red"}, Items: []Item{
			{Type: Deleted, Version: 30, Object: obj("a", 30), At: 202}, tell(40, 303),
		}}, nil},
		{"leaves the scope with new content", Watch{From: 20, Scope: Scope{Labels: "color=red"}, Items: []Item{
			{Type: Deleted, Version: 30, Object: colored("a", 30, "blue"), At: 202},
		}}, []Kind{Content}},
		{"leaves the scope unseen", Watch{From: 20, Scope: Scope{Labels: "color=red"}, Items: []Item{tell(40, 302)}}, []Kind{Gap}},
		{"enters the scope", Watch{From: 20, Scope: Scope{Labels: "color=blue"}, Items: []Item{
			{Type: Added, Version: 30, Object: colored("a", 30, "blue"), At: 202}, mark(49, 305),
		}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := past()
			h.Watches = []Watch{tc.watch}
			expect(t, h, tc.want)
		})
	}
}

func add(o *Object, at Tick) Item {
	return Item{Type: Added, Version: o.Version, Object: o, At: at}
}

func TestStreams(t *testing.T) {
	a, b, c, blue := obj("a", 5), obj("b", 7), obj("c", 20), colored("a", 30, "blue")
	for _, tc := range []struct {
		name  string
		items []Item
		want  []Kind
	}{
		{"state", []Item{add(blue, 221), add(b, 221), add(c, 221), mark(30, 222)}, nil},
		{"state and what follows", []Item{add(a, 221), add(b, 221), add(c, 221), tell(30, 222), mark(30, 223)}, nil},
		{"too old", []Item{add(a, 221), add(b, 221), add(c, 221), mark(20, 223)}, []Kind{Stale}},
		{"change left out", []Item{add(a, 221), add(b, 221), add(c, 221), mark(30, 223)}, []Kind{Content}},
		{"object left out", []Item{add(blue, 221), add(b, 221), mark(30, 223)}, []Kind{Missing}},
		{"object twice", []Item{add(blue, 221), add(b, 221), add(b, 221), add(c, 221), mark(30, 223)}, []Kind{Duplicate}},
		{"change of nothing", []Item{tell(30, 222), add(b, 222), add(c, 222), mark(30, 223)}, []Kind{Invented}},
		{"bookmark amid the state", []Item{add(blue, 221), mark(20, 221), add(b, 221), add(c, 221), mark(30, 223)}, []Kind{Lie}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := past()
			h.Reads = []Read{{Client: "r", Promise: Promise{Fresh: true}, Began: 220, Ended: 230, Stream: tc.items}}
			expect(t, h, tc.want)
		})
	}
}

func TestGets(t *testing.T) {
	blue := colored("a", 30, "blue")
	for _, tc := range []struct {
		name string
		get  Get
		want []Kind
	}{
		{"most recent", Get{Key: "n/a", Promise: Promise{Fresh: true}, Began: 220, Ended: 230, Object: blue}, nil},
		{"too old", Get{Key: "n/a", Promise: Promise{Fresh: true}, Began: 220, Ended: 230, Object: obj("a", 5)}, []Kind{Stale}},
		{"any", Get{Key: "n/a", Began: 220, Ended: 230, Object: obj("a", 5)}, nil},
		{"not older", Get{Key: "n/a", Promise: Promise{AtLeast: 25}, Began: 120, Ended: 130, Object: obj("a", 5)}, nil},
		{"older", Get{Key: "n/a", Promise: Promise{AtLeast: 30}, Began: 220, Ended: 230, Object: obj("a", 5)}, []Kind{Stale}},
		{"from the future", Get{Key: "n/a", Began: 120, Ended: 130, Object: blue}, []Kind{Future}},
		{"never was so", Get{Key: "n/a", Began: 220, Ended: 230, Object: colored("a", 30, "pink")}, []Kind{Content}},
		{"gone", Get{Key: "n/b", Promise: Promise{Fresh: true}, Began: 320, Ended: 330}, nil},
		{"gone before its time", Get{Key: "n/b", Began: 220, Ended: 230}, []Kind{Future}},
		{"still there", Get{Key: "n/b", Promise: Promise{Fresh: true}, Began: 320, Ended: 330, Object: obj("b", 7)}, []Kind{Stale}},
		{"not yet there", Get{Key: "n/d", Promise: Promise{Fresh: true}, Began: 320, Ended: 330}, nil},
		{"not found though created", Get{Key: "n/d", Promise: Promise{Fresh: true}, Began: 420, Ended: 430}, []Kind{Stale}},
		{"never there", Get{Key: "n/x", Promise: Promise{Fresh: true}, Began: 420, Ended: 430}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := past()
			h.Gets = []Get{tc.get}
			expect(t, h, tc.want)
		})
	}
}

func TestLogs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(h *History)
		want   []Kind
	}{
		{"lost write", func(h *History) {
			h.Writes = append(h.Writes, Write{Verb: "create", Key: "n/x", Version: 45, Began: 350, Ended: 351})
		}, []Kind{Lost}},
		{"lost deletion", func(h *History) {
			h.Writes = append(h.Writes, Write{Verb: "delete", Key: "n/c", UID: "uid of c", Began: 350, Ended: 351})
		}, []Kind{Lost}},
		{"out of order", func(h *History) { h.Log.Events[0].Version = 30 }, []Kind{Broken}},
		{"change of nothing", func(h *History) { h.Log.State = nil }, []Kind{Broken}},
		{"bad selector", func(h *History) { h.Watches = []Watch{{Scope: Scope{Labels: "a in"}}} }, []Kind{Broken}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := past()
			tc.change(h)
			expect(t, h, tc.want)
		})
	}
}
