package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/response"
	"sluice/proxy/serve/servetest"
)

// step is one step of a watch: something happens, or must have happened.
type step func(*env, *servetest.WatchClient)

func added(i int, version uint64) step {
	return func(e *env, _ *servetest.WatchClient) { e.Apply(cache.Added, servetest.Foo(i, version)) }
}

func modified(i int, version uint64) step {
	return func(e *env, _ *servetest.WatchClient) { e.Apply(cache.Modified, servetest.Foo(i, version)) }
}

// relabeled is modified with the label value.
func relabeled(i int, version uint64, value string) step {
	return func(e *env, _ *servetest.WatchClient) {
		o := servetest.Foo(i, version)
		o.Labels[0].Value = value
		e.Apply(cache.Modified, o)
	}
}

func deleted(i int, version uint64) step {
	return func(e *env, _ *servetest.WatchClient) { e.Apply(cache.Deleted, servetest.Foo(i, version)) }
}

// bookmarked is a bookmark on the watch of the store.
func bookmarked(version uint64) step {
	return func(e *env, _ *servetest.WatchClient) {
		if err := e.Resource.Store.ApplyBookmark(version); err != nil {
			e.Error(err)
		}
	}
}

// storeEnds is the end of the history, as after a 410 of the apiserver.
func storeEnds(e *env, _ *servetest.WatchClient) { e.Resource.Store.Close() }

// current sets the version of the apiserver.
func current(version uint64) step {
	return func(e *env, _ *servetest.WatchClient) { e.Apiserver.Set(version, 0) }
}

// listed sets the version of the apiserver and the objects that an inventory finds there.
func listed(version uint64, objects ...*tree.Object) step {
	return func(e *env, _ *servetest.WatchClient) { e.Apiserver.SetListed(version, objects...) }
}

// soon makes something happen a second later.
func soon(happens step) step {
	return func(e *env, c *servetest.WatchClient) { time.AfterFunc(time.Second, func() { happens(e, c) }) }
}

// secondWatched lets second watches deliver a bookmark.
func secondWatched(version uint64) step {
	return func(e *env, _ *servetest.WatchClient) { e.Apiserver.Set(version, version) }
}

func unreachable(e *env, _ *servetest.WatchClient) { e.Apiserver.Set(0, 0) }

// rechecks sets the answer to the rechecks that follow.
func rechecks(allowed bool, err error) step {
	return func(e *env, _ *servetest.WatchClient) { e.Access.Set(allowed, err) }
}

// slows makes each write take d.
func slows(d time.Duration) step { return func(_ *env, c *servetest.WatchClient) { c.Slow = d } }

func takes(_ *env, c *servetest.WatchClient) { c.Take() }

// getsAtMost checks that the last events are at most n and that the last one is last.
func getsAtMost(n int, last string) step {
	return func(e *env, c *servetest.WatchClient) {
		e.Helper()
		if got := c.Take(); len(got) > n || len(got) == 0 || got[len(got)-1] != last {
			e.Errorf("the client gets %q, want at most %d and %s at the end", got, n, last)
		}
	}
}

func rechecksRespond(e *env, _ *servetest.WatchClient) {
	e.Access.Mu.Lock()
	defer e.Access.Mu.Unlock()
	e.Access.Hangs = false
}
func rechecksHang(e *env, _ *servetest.WatchClient) { e.Access.Hang() }
func drains(e *env, _ *servetest.WatchClient)       { close(e.Draining) }
func stalls(_ *env, c *servetest.WatchClient)       { c.Stall() }
func resumes(_ *env, c *servetest.WatchClient)      { c.Resume() }
func rulesChange(e *env, _ *servetest.WatchClient)  { e.Access.Change() }
func leaves(_ *env, c *servetest.WatchClient)       { c.Leave() }

func after(d time.Duration) step { return func(*env, *servetest.WatchClient) { time.Sleep(d) } }

// gets checks the events since the last check.
func gets(want ...string) step {
	return func(e *env, c *servetest.WatchClient) {
		e.Helper()
		if got := c.Take(); !slices.Equal(got, want) {
			e.Errorf("the client gets %q, want %q", got, want)
		}
	}
}

func isOpen(e *env, c *servetest.WatchClient) {
	e.Helper()
	if c.Ended() {
		e.Error("the watch has ended")
	}
}

func hasEnded(e *env, c *servetest.WatchClient) {
	e.Helper()
	if !c.Ended() {
		e.Error("the watch is still open")
	}
}

const (
	fooWatch  = "/apis/ex.io/v1/foos?watch=1&"
	bookmarks = "&allowWatchBookmarks=true"
	fromThree = "resourceVersion=3"
	streaming = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
)

// manyModified are more events than one batch.
var manyModified = func() (all []step) {
	for i := range 3 * batch {
		all = append(all, modified(i%3, uint64(4+i)))
	}
	return all
}()

func getsManyModified(e *env, c *servetest.WatchClient) {
	e.Helper()
	got := c.Take()
	if len(got) != 3*batch {
		e.Fatalf("%d events", len(got))
	}
	for i, event := range got {
		if want := fmt.Sprintf("MODIFIED f%06d@%d", i%3, 4+i); event != want {
			e.Fatalf("event %d is %q, want %q", i, event, want)
		}
	}
}

var threeFoos = []string{"ADDED f000000@1", "ADDED f000001@2", "ADDED f000002@3"}

// The store of every row begins with three objects, at versions 1 to 3.
func TestWatch(t *testing.T) {
	for _, row := range []struct {
		law    string
		query  string // or a whole URL
		before []step // before the watch is opened, without a client
		steps  []step
	}{
		// Events.
		{"DeliversEveryEventAfterItsVersion", fromThree, nil, []step{
			gets(), added(3, 4), modified(0, 5), deleted(3, 6), gets("ADDED f000003@4", "MODIFIED f000000@5", "DELETED f000003@6"), isOpen,
		}},
		{"WaitsForAVersionInTheFuture", "resourceVersion=5", nil, []step{added(3, 4), modified(0, 5), modified(0, 6), gets("MODIFIED f000000@6")}},
		{"FromAnyVersionBeginsWithTheState", "resourceVersion=0", nil, []step{gets(threeFoos...), added(3, 4), gets("ADDED f000003@4")}},
		{"FromAnyVersionCanBeginWithoutTheState", "resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", nil, []step{
			gets(), added(3, 4), gets("ADDED f000003@4"),
		}},
		{"OfASelectorAddsWhatEntersAndDeletesWhatLeaves", fromThree + "&labelSelector=even%3Dtrue", nil, []step{
			added(3, 4), gets(), relabeled(3, 5, "true"), gets("ADDED f000003@5"), relabeled(3, 6, "true"), gets("MODIFIED f000003@6"),
			relabeled(3, 7, "false"), gets("DELETED f000003@7"), deleted(0, 8), gets("DELETED f000000@8"),
		}},
		{"OfANamespaceIgnoresOthers", "/apis/ex.io/v1/namespaces/other/foos?watch=1&" + fromThree, nil, []step{added(3, 4), gets()}},
		{"MoreThanABatchBehindDeliversEveryEvent", "resourceVersion=3", manyModified, []step{getsManyModified, modified(0, 1000), gets("MODIFIED f000000@1000")}},

		// Initial events.
		{"EndsInitialEventsWithABookmark", streaming + bookmarks, nil, []step{gets(append(slices.Clone(threeFoos), "BOOKMARK@3 end")...)}},
		{"HasNoInitialEventsEndWithoutBookmarks", streaming, nil, []step{gets(threeFoos...), after(2 * time.Minute), gets()}},
		{"OfOneVersionEndsInitialEventsThere", streaming + "&resourceVersion=2" + bookmarks, nil, []step{
			unreachable, gets(append(slices.Clone(threeFoos), "BOOKMARK@3 end")...),
		}},
		{"EndsInitialEventsOnceTheyAreProvenRecent", streaming + bookmarks, []step{current(5)}, []step{
			gets(threeFoos...), after(2 * time.Second), gets(), added(3, 5), gets("ADDED f000003@5", "BOOKMARK@5 end"),
		}},
		{"EndsInitialEventsAtTheVersionOfADeletionThatItHasSent", streaming + bookmarks, []step{current(5)}, []step{
			gets(threeFoos...), deleted(0, 6), gets("DELETED f000000@6", "BOOKMARK@6 end"),
		}},
		{"DeliversEventsBeforeTheInitialEventsEnd", streaming + bookmarks, []step{current(5)}, []step{
			gets(threeFoos...), added(3, 4), gets("ADDED f000003@4"), bookmarked(6), gets("BOOKMARK@6 end"),
		}},
		{"EndsInitialEventsOnASecondWatch", streaming + bookmarks, []step{secondWatched(5)}, []step{
			gets(append(slices.Clone(threeFoos), "BOOKMARK@5 end")...),
		}},
		{"EndsInitialEventsWhenTheAPIServerIsBack", streaming + bookmarks, []step{unreachable}, []step{
			after(time.Second / 2), gets(threeFoos...), current(3), after(time.Second), gets("BOOKMARK@3 end"),
		}},
		{"SendsNoOtherBookmarkBeforeTheInitialEventsEnd", streaming + bookmarks, []step{unreachable}, []step{
			bookmarked(4), after(2 * time.Second), gets(threeFoos...),
		}},
		{"EndsWithAnErrorWithoutProofInTime", streaming + bookmarks, []step{unreachable}, []step{
			after(proofLimit), gets(append(slices.Clone(threeFoos), "ERROR 504")...), hasEnded,
		}},
		{"EndsInitialEventsOnAnInventory", streaming + bookmarks, []step{listed(7, servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 3))}, []step{
			gets(append(slices.Clone(threeFoos), "BOOKMARK@7 end")...),
			added(3, 4), deleted(3, 5), added(4, 8), gets("ADDED f000004@8"), // those up to 7 are no part of the state at 7
		}},
		{"EndsInitialEventsOnceTheRollIsComplete", streaming + bookmarks, []step{listed(7, servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 6))}, []step{
			gets(threeFoos...), modified(2, 5), gets("MODIFIED f000002@5"), modified(2, 6), gets("MODIFIED f000002@6", "BOOKMARK@7 end"),
		}},
		{"OfANamespaceEndsInitialEventsOnAnInventory", "/apis/ex.io/v1/namespaces/other/foos?watch=1&" + streaming + bookmarks, []step{listed(7, servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 6))}, []step{
			gets(), modified(2, 6), gets("BOOKMARK@7 end"),
		}},
		{"WithoutStreamingListBeginsWithAProvenState", "allowWatchBookmarks=true", []step{current(4), soon(modified(0, 4))}, []step{
			gets("ADDED f000000@4", "ADDED f000001@2", "ADDED f000002@3", "BOOKMARK@4 end"),
		}},
		{"SendsNoBookmarkBelowAConfirmedVersion", "resourceVersion=7" + bookmarks, []step{listed(7, servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 3))}, []step{
			after(2 * time.Minute), gets(), bookmarked(6), after(2 * time.Minute), gets(), bookmarked(9), after(time.Minute), gets("BOOKMARK@9"),
		}},
		{"EndsWithTheStoreBeforeTheInitialEventsEnd", streaming + bookmarks, []step{current(5)}, []step{storeEnds, gets(threeFoos...), hasEnded}},
		{"WithoutBookmarksWaitsUntilItsInitialEventsAreRecent", streaming, []step{secondWatched(5)}, []step{gets(threeFoos...), isOpen}},
		{"OfALegacyPathHasNoInitialEventsEnd", "/apis/ex.io/v1/watch/foos?allowWatchBookmarks=true", nil, []step{
			gets(threeFoos...), after(2 * time.Minute), gets(), bookmarked(9), after(time.Minute), gets("BOOKMARK@9"),
		}},

		// Bookmarks.
		{"SendsABookmarkEveryMinute", fromThree + bookmarks, nil, []step{
			bookmarked(9), after(59 * time.Second), gets(), after(2 * time.Second), gets("BOOKMARK@9"),
			bookmarked(12), after(58 * time.Second), gets(), after(2 * time.Second), gets("BOOKMARK@12"),
		}},
		{"OfThreeSecondsSendsABookmarkOnceProven", fromThree + bookmarks + "&timeoutSeconds=3", []step{secondWatched(5)}, []step{
			gets("BOOKMARK@5"), isOpen,
		}},
		{"OfThreeSecondsSendsNoBookmarkForAConfirmedState", fromThree + bookmarks + "&timeoutSeconds=3", []step{listed(7, servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 3))}, []step{
			gets(), after(3 * time.Second), gets(), hasEnded,
		}},
		{"SendsNoBookmarkUnasked", fromThree, nil, []step{bookmarked(9), after(5 * time.Minute), gets(), isOpen}},
		{"SendsNoBookmarkTwice", fromThree + bookmarks, nil, []step{bookmarked(9), after(5 * time.Minute), gets("BOOKMARK@9")}},
		{"SendsNoBookmarkAtTheVersionOfTheLastEvent", fromThree + bookmarks, nil, []step{
			added(3, 4), gets("ADDED f000003@4"), after(5 * time.Minute), gets(),
		}},
		{"RetriesABookmarkWithoutNewVersionSoon", fromThree + bookmarks, nil, []step{
			after(61 * time.Second), gets(), bookmarked(9), after(10 * time.Second), gets("BOOKMARK@9"),
		}},
		{"SendsABookmarkBeforeItsTimeout", fromThree + bookmarks + "&timeoutSeconds=30", nil, []step{
			bookmarked(9), after(28*time.Second + time.Millisecond), gets("BOOKMARK@9"), isOpen, after(2 * time.Second), hasEnded,
		}},

		// Rechecks.
		{"EndsWhenAccessIsRevoked", fromThree, nil, []step{rechecks(false, nil), after(defaultRecheck), gets("ERROR 403"), hasEnded}},
		{"EndsSoonAfterAChangeOfAccessRules", fromThree, nil, []step{rechecks(false, nil), rulesChange, after(recheckSpread), gets("ERROR 403"), hasEnded}},
		{"ChecksAgainAfterAChangeDuringARecheck", fromThree, nil, []step{
			rechecksHang, after(defaultRecheck), rulesChange, rechecksRespond, rechecks(false, nil), after(recheckLimit + recheckSpread), gets("ERROR 403"), hasEnded,
		}},
		{"WritesNoSecondEventAfterRevocation", fromThree, nil, append(append([]step{slows(2 * time.Second)}, manyModified...),
			after(10*time.Second), takes, rechecks(false, nil), rulesChange, after(recheckSpread+4*time.Second), getsAtMost(3, "ERROR 403"), hasEnded)},
		{"OfAStalledReaderEndsWhenAccessIsRevoked", fromThree, nil, []step{
			stalls, added(3, 4), rechecks(false, nil), rulesChange, after(recheckSpread), isOpen, after(revokedWriteLimit), gets(), hasEnded,
		}},
		{"OfAStalledReaderGetsTheReasonIfItResumesInTime", fromThree, nil, []step{
			stalls, added(3, 4), rechecks(false, nil), rulesChange, after(recheckSpread), resumes, gets("ADDED f000003@4", "ERROR 403"), hasEnded,
		}},
		{"StaysOpenWhileAccessIsAllowed", fromThree, nil, []step{after(10 * time.Minute), isOpen}},
		{"StaysOpenWhileAccessIsInDoubtForAWhile", fromThree, nil, []step{rechecks(false, servetest.ErrUnreachable), after(doubtfulFor), isOpen}},
		{"EndsWhenAccessIsInDoubtForLong", fromThree, nil, []step{rechecks(false, servetest.ErrUnreachable), after(doubtfulFor + defaultRecheck), gets("ERROR 503"), hasEnded}},
		{"ForgetsDoubtAfterAConfirmation", fromThree, nil, []step{
			rechecks(false, servetest.ErrUnreachable), after(100 * time.Second), rechecks(true, nil), after(defaultRecheck * 3 / 2),
			// The last confirmation may be one and a half intervals old.
			rechecks(false, servetest.ErrUnreachable), after(doubtfulFor - 2*defaultRecheck), isOpen,
		}},
		{"EndsOnRevocationAfterDoubt", fromThree, nil, []step{
			rechecks(false, servetest.ErrUnreachable), after(time.Minute), rechecks(false, nil), after(defaultRecheck * 3 / 2), hasEnded,
		}},
		{"IsDeniedOnceWhileItsClientStalls", fromThree, nil, []step{
			stalls, added(3, 4), rechecks(false, nil), rulesChange, after(2 * recheckSpread), rulesChange, after(2 * recheckSpread),
			after(revokedWriteLimit), hasEnded,
		}},
		{"DeliversWhileARecheckHangs", fromThree, nil, []step{rechecksHang, after(defaultRecheck * 3 / 2), added(3, 4), gets("ADDED f000003@4"), leaves, hasEnded}},

		// Ends.
		{"LivesThirtyMinutesOrLonger", fromThree, nil, []step{after(30*time.Minute - time.Second), isOpen, after(30*time.Minute + time.Second), hasEnded}},
		{"EndsAtItsTimeout", fromThree + "&timeoutSeconds=7", nil, []step{after(7*time.Second - time.Millisecond), isOpen, after(time.Millisecond), hasEnded}},
		{"EndsWhenTheClientLeaves", fromThree, nil, []step{leaves, hasEnded}},
		{"EndsWithTheStoreAfterItsLastEvent", fromThree, nil, []step{added(3, 4), storeEnds, gets("ADDED f000003@4"), hasEnded}},
		{"EndsWithinTheSpreadOfADrainWithABookmark", fromThree + bookmarks, nil, []step{
			bookmarked(9), drains, after(5 * time.Second), gets("BOOKMARK@9"), hasEnded,
		}},
		{"DeliversUntilItDrains", fromThree, nil, []step{drains, added(3, 4), gets("ADDED f000003@4"), after(5 * time.Second), hasEnded}},
		{"DrainsNoLaterThanItsTimeout", fromThree + "&timeoutSeconds=1", nil, []step{drains, after(time.Second), hasEnded}},

		// Slow readers.
		{"EndsWhenAWriteIsNotAccepted", fromThree, nil, []step{
			stalls, added(3, 4), after(response.WriteTimeout - time.Millisecond), isOpen, after(time.Millisecond), hasEnded,
		}},
		{"OfASlowReaderMissesNoEvent", fromThree, nil, []step{
			stalls, added(3, 4), after(time.Second), added(4, 5), added(5, 6), after(time.Second), resumes,
			gets("ADDED f000003@4", "ADDED f000004@5", "ADDED f000005@6"), isOpen,
		}},
		{"SendsNoBookmarkAheadOfEvents", fromThree + bookmarks, nil, []step{
			after(59 * time.Second), stalls, added(3, 4), after(2 * time.Second), modified(3, 5), resumes,
			gets("ADDED f000003@4", "MODIFIED f000003@5"),
		}},
	} {
		t.Run(row.law, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEnv(t, servetest.Foos(3), Options{Spread: func() time.Duration { return 5 * time.Second }})
				for _, step := range row.before {
					step(e, nil)
				}
				url := fooWatch + row.query
				if strings.HasPrefix(row.query, "/") {
					url = row.query
				}
				c := e.Watch(url, nil)
				if code, _ := c.State(); code == 0 {
					time.Sleep(proofLimit)
					synctest.Wait()
				}
				if code, _ := c.State(); code != http.StatusOK {
					t.Fatalf("code %d", code)
				}
				for _, step := range row.steps {
					step(e, c)
					synctest.Wait()
				}
			})
		})
	}
}
