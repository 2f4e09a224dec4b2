package clients

import (
	"fmt"
	"strconv"
	"testing"
)

// ask returns a short list.
func ask(user, namespace string) *Use {
	return &Use{Key: Key{User: user, Resource: "pods", Namespace: namespace}, Verb: List, Ended: true}
}

// checkOpen compares what rows and everything else have of open watches with those that are open.
func checkOpen(t *testing.T, table *Table, want int) {
	t.Helper()
	l := table.List(true)
	sum := l.RestWatches
	for _, r := range l.Items {
		sum += r.Watches
	}
	if sum != want {
		t.Errorf("%d watches are open, want %d", sum, want)
	}
	table.each(func(s *shard) {
		open := map[Key]int{}
		for w := range s.watches {
			if r := s.rows[w.Key]; r != nil && r.since <= w.opened {
				open[w.Key]++
			}
		}
		for _, r := range s.rows {
			if r.open != open[r.Key] {
				t.Errorf("the row of %v counts %d open watches, not %d", r.Key, r.open, open[r.Key])
			}
		}
	})
}

// TestRowsWithOpenWatchesStay while half of the rows have none. Above that, the lightest leaves.
func TestRowsWithOpenWatchesStay(t *testing.T) {
	table, open := NewTable(), []*OpenWatch{}
	watch := func(namespace int) {
		open = append(open, table.Open(WatchFacts{Key: ask("jane", strconv.Itoa(namespace)).Key}))
	}
	watch(0)
	quiet := table.shard("jane").rows[open[0].Key]
	stays := func() bool { return table.shard("jane").rows[quiet.Key] == quiet }
	for i := range 100 * rowsOfUser {
		table.Add(ask("jane", strconv.Itoa(-i)))
		if i == 0 {
			table.Add(ask("jane", "heavy"))
		}
	}
	for i := range rowsOfUser / 2 {
		watch(i + 1)
	}
	if !stays() {
		t.Error("clients that came once removed a row with an open watch")
	}
	quiet.weight = 0 // the lightest of more than half
	watch(rowsOfUser)
	if l := table.List(true); stays() || l.Tracked != rowsOfUser || l.RestWatches != 1 {
		t.Errorf("%d rows, everything else has %d watches", l.Tracked, l.RestWatches)
	}
	checkOpen(t, table, rowsOfUser/2+2)
	watch(0)
	if r := table.shard("jane").rows[quiet.Key]; r == nil || r.open != 1 {
		t.Errorf("the row exists again as %+v", r)
	}
	for i, w := range open {
		checkOpen(t, table, len(open)-i)
		w.Close()
	}
	checkOpen(t, table, 0)
}

// TestWatchesPushNoHeavyClientOut, although they are more than there are rows.
func TestWatchesPushNoHeavyClientOut(t *testing.T) {
	table, open := NewTable(), []*OpenWatch{}
	watch := func(i int) *OpenWatch {
		return table.Open(WatchFacts{Key: Key{User: fmt.Sprint("system:node:n", i/4), Resource: strconv.Itoa(i % 4)}})
	}
	for i := range 4000 {
		open = append(open, watch(i))
	}
	const lists = 1000
	for i := range lists {
		table.Add(pods("poller", "client"))
		for j := range 20 {
			n := (i*20 + j) % len(open)
			open[n].Close()
			open[n] = watch(n)
		}
	}
	l := table.List(true)
	if r := l.Items[0]; r.User != "poller" || r.Count("served") != lists || l.Tracked > numShards*rowsOfShard {
		t.Errorf("of %d rows, the heaviest is of %s with %d lists, want %d", l.Tracked, r.User, r.Count("served"), lists)
	}
	if rows, rest := requests(l); rows+rest != lists {
		t.Errorf("rows have %d requests, everything else %d", rows, rest)
	}
	checkOpen(t, table, len(open))
}

// TestWatchesOfTwoUsersLeaveRowsToOthers: each may have half of a shard.
func TestWatchesOfTwoUsersLeaveRowsToOthers(t *testing.T) {
	table, users := NewTable(), []string{}
	s := table.shard("first")
	for i := 0; len(users) < 1+rowsOfShard/2; i++ {
		if u := strconv.Itoa(i); table.shard(u) == s {
			users = append(users, u)
		}
	}
	for _, u := range []string{"first", users[0]} {
		for i := range rowsOfUser {
			defer table.Open(WatchFacts{Key: Key{User: u, Agent: strconv.Itoa(i)}}).Close()
		}
	}
	for range 10 {
		for _, u := range users[1:] {
			table.Add(ask(u, "default"))
		}
	}
	for _, u := range users[1:] {
		if r := s.rows[ask(u, "default").Key]; r == nil || r.requests[List][Served]+r.requests[Get][Served]+r.requests[Watch][Served]+r.requests[OtherVerb][Served] != 10 {
			t.Fatalf("%s has the row %+v", u, r)
		}
	}
	checkOpen(t, table, 2*rowsOfUser)
}

// TestPassedWatchHasItsReasonFromItsBeginning, and is not counted again when it ends.
func TestPassedWatchHasItsReasonFromItsBeginning(t *testing.T) {
	table := NewTable()
	key := ask("jane", AllNamespaces).Key
	served, passed := WatchFacts{Key: key, Cached: true, Reason: "any-version"}, WatchFacts{Key: key, Reason: "excluded"}
	for _, f := range []WatchFacts{served, passed} {
		w := table.Open(f)
		defer w.Close()
	}
	for _, w := range table.Watches(true).Items {
		if want := map[string]string{"upstream": "excluded"}[w.Source]; w.PassedBecause != want {
			t.Errorf("from %s: %q", w.Source, w.PassedBecause)
		}
	}
	table.Add(&Use{Key: key, Verb: Watch, Outcome: Passed, Reason: "excluded", Ended: true})
	r := table.shard("jane").rows[table.shard("jane").row(key, 0).Key]
	if n := r.passed[0].n; r.passed.top() != "excluded" || n != 1 {
		t.Errorf("%q, %d times", r.passed.top(), n)
	}
}
