package watch_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/watch"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is one step of a watch: something happens, or must have happened.
type step func(*servetest.Env, *servetest.WatchClient)

func added(i int, version uint64) step {
	return func(e *servetest.Env, _ *servetest.WatchClient) { e.Apply(cache.Added, servetest.Foo(i, version)) }
}

func modified(i int, version uint64) step {
	return func(e *servetest.Env, _ *servetest.WatchClient) { e.Apply(cache.Modified, servetest.Foo(i, version)) }
}

// relabeled is modified with the label value.
func relabeled(i int, version uint64, value string) step {
	return func(e *servetest.Env, _ *servetest.WatchClient) {
		o := servetest.Foo(i, version)
		o.Labels[0].Value = value
		e.Apply(cache.Modified, o)
	}
}

func deleted(i int, version uint64) step {
	return func(e *servetest.Env, _ *servetest.WatchClient) { e.Apply(cache.Deleted, servetest.Foo(i, version)) }
}

// bookmarked is a bookmark on the watch of the store.
func bookmarked(version uint64) step {
	return func(e *servetest.Env, _ *servetest.WatchClient) {
		if err := e.Writer().ApplyBookmark(version); err != nil {
			e.Error(err)
		}
	}
}

// storeEnds is the end of the history, as after a 410 of the apiserver.
func storeEnds(e *servetest.Env, _ *servetest.WatchClient) { e.Writer().Close() }

// current sets the version of the apiserver.
func current(version uint64) step {
	return func(e *servetest.Env, _ *servetest.WatchClient) { e.Apiserver.Set(version, 0) }
}

// listed sets the version of the apiserver and the objects that an inventory finds there.
func listed(version uint64, objects ...*tree.Object) step {
	return func(e *servetest.Env, _ *servetest.WatchClient) { e.Apiserver.SetListed(version, objects...) }
}

// soon makes something happen a second later.
func soon(happens step) step {
	return func(e *servetest.Env, c *servetest.WatchClient) {
		time.AfterFunc(time.Second, func() { happens(e, c) })
	}
}

// secondWatched lets second watches deliver a bookmark.
func secondWatched(version uint64) step {
	return func(e *servetest.Env, _ *servetest.WatchClient) { e.Apiserver.Set(version, version) }
}

func unreachable(e *servetest.Env, _ *servetest.WatchClient) { e.Apiserver.Set(0, 0) }

// rechecks sets the answer to the rechecks that follow.
func rechecks(allowed bool, err error) step {
	return func(e *servetest.Env, _ *servetest.WatchClient) { e.Access.Set(allowed, err) }
}

// slows makes each write take d.
func slows(d time.Duration) step {
	return func(_ *servetest.Env, c *servetest.WatchClient) { c.Slow = d }
}

func takes(_ *servetest.Env, c *servetest.WatchClient) { c.Take() }

// getsAtMost checks that the last events are at most n and that the last one is last.
func getsAtMost(n int, last string) step {
	return func(e *servetest.Env, c *servetest.WatchClient) {
		e.Helper()
		if got := c.Take(); len(got) > n || len(got) == 0 || got[len(got)-1] != last {
			e.Errorf("the client gets %q, want at most %d and %s at the end", got, n, last)
		}
	}
}

func rechecksRespond(e *servetest.Env, _ *servetest.WatchClient) {
	e.Access.Mu.Lock()
	defer e.Access.Mu.Unlock()
	e.Access.Hangs = false
}
func rechecksHang(e *servetest.Env, _ *servetest.WatchClient) { e.Access.Hang() }
func drains(e *servetest.Env, _ *servetest.WatchClient)       { close(e.Draining) }
func stalls(_ *servetest.Env, c *servetest.WatchClient)       { c.Stall() }
func resumes(_ *servetest.Env, c *servetest.WatchClient)      { c.Resume() }
func rulesChange(e *servetest.Env, _ *servetest.WatchClient)  { e.Access.Change() }
func leaves(_ *servetest.Env, c *servetest.WatchClient)       { c.Leave() }

func after(d time.Duration) step {
	return func(*servetest.Env, *servetest.WatchClient) { time.Sleep(d) }
}

// gets checks the events since the last check.
func gets(want ...string) step {
	return func(e *servetest.Env, c *servetest.WatchClient) {
		e.Helper()
		if got := c.Take(); !slices.Equal(got, want) {
			e.Errorf("the client gets %q, want %q", got, want)
		}
	}
}

func isOpen(e *servetest.Env, c *servetest.WatchClient) {
	e.Helper()
	if c.Ended() {
		e.Error("the watch has ended")
	}
}

func hasEnded(want request.WatchEnd) step {
	return func(e *servetest.Env, c *servetest.WatchClient) {
		e.Helper()
		if !c.Ended() {
			e.Error("the watch is still open")
		} else if got := request.From(c.Request.Context()).Outcome.End; got != want {
			e.Errorf("the watch has ended as %q, want %q", got, want)
		}
	}
}

// manyModified are more events than one batch.
var manyModified = func() (all []step) {
	for i := range 3 * watch.Batch {
		all = append(all, modified(i%3, uint64(4+i)))
	}
	return all
}()

func getsManyModified(e *servetest.Env, c *servetest.WatchClient) {
	e.Helper()
	got := c.Take()
	if len(got) != 3*watch.Batch {
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
		{"DeliversEveryEventAfterItsVersion", servetest.FromThree, nil, []step{
			gets(), added(3, 4), modified(0, 5), deleted(3, 6), gets("ADDED f000003@4", "MODIFIED f000000@5", "DELETED f000003@6"), isOpen,
		}},
		{"WaitsForAVersionInTheFuture", "resourceVersion=5", nil, []step{added(3, 4), modified(0, 5), modified(0, 6), gets("MODIFIED f000000@6")}},
		{"FromAnyVersionBeginsWithTheState", "resourceVersion=0", nil, []step{gets(threeFoos...), added(3, 4), gets("ADDED f000003@4")}},
		{"FromAnyVersionCanBeginWithoutTheState", "resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", nil, []step{
			gets(), added(3, 4), gets("ADDED f000003@4"),
		}},
		{"OfASelectorAddsWhatEntersAndDeletesWhatLeaves", servetest.FromThree + "&labelSelector=even%3Dtrue", nil, []step{
			added(3, 4), gets(), relabeled(3, 5, "true"), gets("ADDED f000003@5"), relabeled(3, 6, "true"), gets("MODIFIED f000003@6"),
			relabeled(3, 7, "false"), gets("DELETED f000003@7"), deleted(0, 8), gets("DELETED f000000@8"),
		}},
		{"OfANamespaceIgnoresOthers", "/apis/ex.io/v1/namespaces/other/foos?watch=1&" + servetest.FromThree, nil, []step{added(3, 4), gets()}},
		{"MoreThanABatchBehindDeliversEveryEvent", "resourceVersion=3", manyModified, []step{getsManyModified, modified(0, 1000), gets("MODIFIED f000000@1000")}},

		// Initial events.
		{"EndsInitialEventsWithABookmark", servetest.Streaming + servetest.Bookmarks, nil, []step{gets(append(slices.Clone(threeFoos), "BOOKMARK@3 end")...)}},
		{"HasNoInitialEventsEndWithoutBookmarks", servetest.Streaming, nil, []step{gets(threeFoos...), after(2 * time.Minute), gets()}},
		{"OfOneVersionEndsInitialEventsThere", servetest.Streaming + "&resourceVersion=2" + servetest.Bookmarks, nil, []step{
			unreachable, gets(append(slices.Clone(threeFoos), "BOOKMARK@3 end")...),
		}},
		{"EndsInitialEventsOnceTheyAreProvenRecent", servetest.Streaming + servetest.Bookmarks, []step{current(5)}, []step{
			gets(threeFoos...), after(2 * time.Second), gets(), added(3, 5), gets("ADDED f000003@5", "BOOKMARK@5 end"),
		}},
		{"EndsInitialEventsAtTheVersionOfADeletionThatItHasSent", servetest.Streaming + servetest.Bookmarks, []step{current(5)}, []step{
			gets(threeFoos...), deleted(0, 6), gets("DELETED f000000@6", "BOOKMARK@6 end"),
		}},
		{"DeliversEventsBeforeTheInitialEventsEnd", servetest.Streaming + servetest.Bookmarks, []step{current(5)}, []step{
			gets(threeFoos...), added(3, 4), gets("ADDED f000003@4"), bookmarked(6), gets("BOOKMARK@6 end"),
		}},
		{"EndsInitialEventsOnASecondWatch", servetest.Streaming + servetest.Bookmarks, []step{secondWatched(5)}, []step{
			gets(append(slices.Clone(threeFoos), "BOOKMARK@5 end")...),
		}},
		{"EndsInitialEventsWhenTheAPIServerIsBack", servetest.Streaming + servetest.Bookmarks, []step{unreachable}, []step{
			after(time.Second / 2), gets(threeFoos...), current(3), after(time.Second), gets("BOOKMARK@3 end"),
		}},
		{"SendsNoOtherBookmarkBeforeTheInitialEventsEnd", servetest.Streaming + servetest.Bookmarks, []step{unreachable}, []step{
			bookmarked(4), after(2 * time.Second), gets(threeFoos...),
		}},
		{"EndsWithAnErrorWithoutProofInTime", servetest.Streaming + servetest.Bookmarks, []step{unreachable}, []step{
			after(fresh.ProofLimit), gets(append(slices.Clone(threeFoos), "ERROR 504")...), hasEnded(request.APIServerAway),
		}},
		{"EndsInitialEventsOnAnInventory", servetest.Streaming + servetest.Bookmarks, []step{listed(7, servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 3))}, []step{
			gets(append(slices.Clone(threeFoos), "BOOKMARK@7 end")...),
			added(3, 4), deleted(3, 5), added(4, 8), gets("ADDED f000004@8"), // those up to 7 are no part of the state at 7
		}},
		{"EndsInitialEventsOnceTheRollIsComplete", servetest.Streaming + servetest.Bookmarks, []step{listed(7, servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 6))}, []step{
			gets(threeFoos...), modified(2, 5), gets("MODIFIED f000002@5"), modified(2, 6), gets("MODIFIED f000002@6", "BOOKMARK@7 end"),
		}},
		{"OfANamespaceEndsInitialEventsOnAnInventory", "/apis/ex.io/v1/namespaces/other/foos?watch=1&" + servetest.Streaming + servetest.Bookmarks, []step{listed(7, servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 6))}, []step{
			gets(), modified(2, 6), gets("BOOKMARK@7 end"),
		}},
		{"WithoutStreamingListBeginsWithAProvenState", "allowWatchBookmarks=true", []step{current(4), soon(modified(0, 4))}, []step{
			gets("ADDED f000000@4", "ADDED f000001@2", "ADDED f000002@3"),
		}},
		{"SendsNoBookmarkBelowAConfirmedVersion", "resourceVersion=7" + servetest.Bookmarks, []step{listed(7, servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 3))}, []step{
			after(2 * time.Minute), gets(), bookmarked(6), after(2 * time.Minute), gets(), bookmarked(9), after(time.Minute), gets("BOOKMARK@9"),
		}},
		{"EndsWithTheStoreBeforeTheInitialEventsEnd", servetest.Streaming + servetest.Bookmarks, []step{current(5)}, []step{storeEnds, gets(threeFoos...), hasEnded(request.StoreRebuilt)}},
		{"WithoutBookmarksWaitsUntilItsInitialEventsAreRecent", servetest.Streaming, []step{secondWatched(5)}, []step{gets(threeFoos...), isOpen}},
		{"OfALegacyPathHasNoInitialEventsEnd", "/apis/ex.io/v1/watch/foos?allowWatchBookmarks=true", nil, []step{
			gets(threeFoos...), after(2 * time.Minute), gets(), bookmarked(9), after(time.Minute), gets("BOOKMARK@9"),
		}},

		// Bookmarks.
		{"SendsABookmarkEveryMinute", servetest.FromThree + servetest.Bookmarks, nil, []step{
			bookmarked(9), after(59 * time.Second), gets(), after(2 * time.Second), gets("BOOKMARK@9"),
			bookmarked(12), after(58 * time.Second), gets(), after(2 * time.Second), gets("BOOKMARK@12"),
		}},
		{"SendsNoBookmarkUnasked", servetest.FromThree, nil, []step{bookmarked(9), after(5 * time.Minute), gets(), isOpen}},
		{"SendsNoBookmarkTwice", servetest.FromThree + servetest.Bookmarks, nil, []step{bookmarked(9), after(5 * time.Minute), gets("BOOKMARK@9")}},
		{"SendsNoBookmarkAtTheVersionOfTheLastEvent", servetest.FromThree + servetest.Bookmarks, nil, []step{
			added(3, 4), gets("ADDED f000003@4"), after(5 * time.Minute), gets(),
		}},
		{"RetriesABookmarkWithoutNewVersionSoon", servetest.FromThree + servetest.Bookmarks, nil, []step{
			after(61 * time.Second), gets(), bookmarked(9), after(10 * time.Second), gets("BOOKMARK@9"),
		}},
		{"SendsABookmarkBeforeItsTimeout", servetest.FromThree + servetest.Bookmarks + "&timeoutSeconds=30", nil, []step{
			bookmarked(9), after(28*time.Second + time.Millisecond), gets("BOOKMARK@9"), isOpen, after(2 * time.Second), hasEnded(request.Timeout),
		}},

		// Rechecks.
		{"EndsWhenAccessIsRevoked", servetest.FromThree, nil, []step{rechecks(false, nil), after(handlertest.Recheck), gets("ERROR 403"), hasEnded(request.Revoked)}},
		{"EndsSoonAfterAChangeOfAccessRules", servetest.FromThree, nil, []step{rechecks(false, nil), rulesChange, after(watch.RecheckSpread), gets("ERROR 403"), hasEnded(request.Revoked)}},
		{"ChecksAgainAfterAChangeDuringARecheck", servetest.FromThree, nil, []step{
			rechecksHang, rulesChange, after(watch.RecheckSpread), // a recheck runs
			rulesChange, rechecksRespond, rechecks(false, nil), after(watch.RecheckLimit + watch.RecheckSpread), gets("ERROR 403"), hasEnded(request.Revoked),
		}},
		{"WritesNoSecondEventAfterRevocation", servetest.FromThree, nil, append(append([]step{slows(2 * time.Second)}, manyModified...),
			after(10*time.Second), takes, rechecks(false, nil), rulesChange, after(watch.RecheckSpread+4*time.Second), getsAtMost(3, "ERROR 403"), hasEnded(request.Revoked))},
		{"OfAStalledReaderEndsWhenAccessIsRevoked", servetest.FromThree, nil, []step{
			stalls, added(3, 4), rechecks(false, nil), rulesChange, after(watch.RecheckSpread), isOpen, after(watch.RevokedWriteLimit), gets(), hasEnded(request.Revoked),
		}},
		{"OfAStalledReaderGetsTheReasonIfItResumesInTime", servetest.FromThree, nil, []step{
			stalls, added(3, 4), rechecks(false, nil), rulesChange, after(watch.RecheckSpread), resumes, gets("ADDED f000003@4", "ERROR 403"), hasEnded(request.Revoked),
		}},
		{"StaysOpenWhileAccessIsAllowed", servetest.FromThree, nil, []step{after(10 * time.Minute), isOpen}},
		{"StaysOpenWhileAccessIsInDoubtForAWhile", servetest.FromThree, nil, []step{rechecks(false, servetest.ErrUnreachable), after(watch.DoubtfulFor), isOpen}},
		{"EndsWhenAccessIsInDoubtForLong", servetest.FromThree, nil, []step{rechecks(false, servetest.ErrUnreachable), after(watch.DoubtfulFor + handlertest.Recheck), gets("ERROR 503"), hasEnded(request.APIServerAway)}},
		{"ForgetsDoubtAfterAConfirmation", servetest.FromThree, nil, []step{
			rechecks(false, servetest.ErrUnreachable), after(100 * time.Second), rechecks(true, nil), after(handlertest.Recheck * 3 / 2),
			// The last confirmation may be one and a half intervals old.
			rechecks(false, servetest.ErrUnreachable), after(watch.DoubtfulFor - 2*handlertest.Recheck), isOpen,
		}},
		{"EndsOnRevocationAfterDoubt", servetest.FromThree, nil, []step{
			rechecks(false, servetest.ErrUnreachable), after(time.Minute), rechecks(false, nil), after(handlertest.Recheck * 3 / 2), hasEnded(request.Revoked),
		}},
		{"IsDeniedOnceWhileItsClientStalls", servetest.FromThree, nil, []step{
			stalls, added(3, 4), rechecks(false, nil), rulesChange, after(2 * watch.RecheckSpread), rulesChange, after(2 * watch.RecheckSpread),
			after(watch.RevokedWriteLimit), hasEnded(request.Revoked),
		}},
		{"EndsWhileARecheckHangs", servetest.FromThree + "&timeoutSeconds=90", nil, []step{rechecksHang, after(90 * time.Second), hasEnded(request.Timeout)}},
		{"DeliversWhileARecheckHangs", servetest.FromThree, nil, []step{rechecksHang, after(handlertest.Recheck * 3 / 2), added(3, 4), gets("ADDED f000003@4"), leaves, hasEnded(request.ClientClosed)}},

		// Ends.
		{"LivesThirtyMinutesOrLonger", servetest.FromThree, nil, []step{after(30*time.Minute - time.Second), isOpen, after(30*time.Minute + time.Second), hasEnded(request.Timeout)}},
		{"EndsAtItsTimeout", servetest.FromThree + "&timeoutSeconds=7", nil, []step{after(7*time.Second - time.Millisecond), isOpen, after(time.Millisecond), hasEnded(request.Timeout)}},
		{"EndsWhenTheClientLeaves", servetest.FromThree, nil, []step{leaves, hasEnded(request.ClientClosed)}},
		{"EndsWithTheStoreAfterItsLastEvent", servetest.FromThree, nil, []step{added(3, 4), storeEnds, gets("ADDED f000003@4"), hasEnded(request.StoreRebuilt)}},
		{"EndsWithinTheSpreadOfADrainWithABookmark", servetest.FromThree + servetest.Bookmarks, nil, []step{
			bookmarked(9), drains, after(5 * time.Second), gets("BOOKMARK@9"), hasEnded(request.Drained),
		}},
		{"DeliversUntilItDrains", servetest.FromThree, nil, []step{drains, added(3, 4), gets("ADDED f000003@4"), after(5 * time.Second), hasEnded(request.Drained)}},
		{"DrainsNoLaterThanItsTimeout", servetest.FromThree + "&timeoutSeconds=1", nil, []step{drains, after(time.Second), hasEnded(request.Drained)}},

		// Slow readers.
		{"EndsWhenAWriteIsNotAccepted", servetest.FromThree, nil, []step{
			stalls, added(3, 4), after(response.WriteTimeout - time.Millisecond), isOpen, after(time.Millisecond), hasEnded(request.ClientStalled),
		}},
		{"OfASlowReaderMissesNoEvent", servetest.FromThree, nil, []step{
			stalls, added(3, 4), after(time.Second), added(4, 5), added(5, 6), after(time.Second), resumes,
			gets("ADDED f000003@4", "ADDED f000004@5", "ADDED f000005@6"), isOpen,
		}},
		{"SendsNoBookmarkAheadOfEvents", servetest.FromThree + servetest.Bookmarks, nil, []step{
			after(59 * time.Second), stalls, added(3, 4), after(2 * time.Second), modified(3, 5), resumes,
			gets("ADDED f000003@4", "MODIFIED f000003@5"),
		}},
	} {
		t.Run(row.law, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := handlertest.New(t, servetest.Foos(3), serve.Options{Spread: func() time.Duration { return 5 * time.Second }})
				for _, step := range row.before {
					step(e, nil)
				}
				url := servetest.FooWatch + row.query
				if strings.HasPrefix(row.query, "/") {
					url = row.query
				}
				c := e.Watch(url, nil)
				if code, _ := c.State(); code == 0 {
					time.Sleep(fresh.ProofLimit)
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
