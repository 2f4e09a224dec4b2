package resources

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/test/support/fake"
)

func TestRecreatedCRDIsDescribedAnew(t *testing.T) {
	d := fake.Widgets
	other := d
	other.Kind, other.Namespaced = "Gadget", false
	steps := []step{
		{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"watch 10", fake.Refuse(http.StatusNotFound)},
		{"discovery", fake.Refuse(http.StatusNotFound)}, // before it is recreated
		{"discovery", other.Discovery()},
		{"first list", fake.Body("application/json", other.FirstList())},
		{"crd", fake.Body("application/json", []byte(`{"spec":{"versions":[{"name":"v1"}],"scope":"Cluster"},
			"status":{"acceptedNames":{"kind":"Gadget","listKind":"GadgetList"}}}`))},
		{"watchlist", other.Stream(other.Added("x@30"), other.InitialEventsEnd("40"))},
	}
	run(t, d, Options{}, steps, func(t *testing.T, e *env) {
		for _, want := range []string{NotInSync, NotCacheable, NotInSync, NotCacheable, NotInSync} {
			if reason := e.lookup(); reason != want {
				t.Errorf("got %q, want %q", reason, want)
			}
			if pass(time.Second); want == NotCacheable {
				pass(notCacheableFor)
			}
		}
		e.CheckPlayed(t)
		c := e.check(t, 40, "x")
		if r := c.Resource; r.Kind != "Gadget" || r.ListKind != "GadgetList" || r.Namespaced {
			t.Errorf("resource is %+v", r)
		}
	})
}

// The synctest bubble fails if a goroutine is left.
func TestRunEndsReflectorsWhateverTheyDo(t *testing.T) {
	d := fake.ConfigMaps
	for name, steps := range map[string][]step{
		"discovery":      {{"discovery", fake.Hang}},
		"streaming list": {{"watchlist", fake.Hang}},
		"initial events": {{"watchlist", d.Stream(d.Added("a/x@3"))}},
		"page":           {{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)}, {"page", fake.Hang}},
		"watch":          {{"watchlist", d.Stream(d.InitialEventsEnd("10"))}},
		"resumed watch":  {{"watchlist", d.Ended(d.InitialEventsEnd("10"))}, {"watch 10", fake.Hang}},
		"backoff":        {{"watchlist", fake.Refuse(http.StatusInternalServerError, "Retry-After", "1000")}},
		"not cacheable":  {{"discovery", fake.Refuse(http.StatusNotFound)}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, d, Options{}, steps, func(t *testing.T, e *env) {
				e.lookup()
				pass(time.Second)
				e.CheckPlayed(t)
			})
		})
	}
}

func TestWithdrawnStoresEnd(t *testing.T) {
	for name, d := range fake.Encodings {
		t.Run(name, func(t *testing.T) {
			run(t, d, Options{}, nil, func(t *testing.T, e *env) {
				expire := make(chan bool)
				e.SetSteps([]step{
					{"watchlist", func(w http.ResponseWriter, r *http.Request) {
						d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"))(w, r)
						<-expire
						_, _ = w.Write(d.Error(http.StatusGone))
					}},
					{"watchlist", d.Stream(d.InitialEventsEnd("40"))},
				})
				e.lookup()
				pass(time.Second)
				before := e.check(t, 10, "a/x")
				cursor, err := before.Store.Watch(cache.Scope{}, 10)
				if err != nil {
					t.Fatal(err)
				}
				defer cursor.Close()
				close(expire)
				synctest.Wait()
				select {
				case <-before.Store.Done():
				default:
					t.Error("the withdrawn store has not ended")
				}
				pass(time.Second)
				if after := e.check(t, 40); after.Store == before.Store || after.Encoders == before.Encoders {
					t.Error("two stores share a store or encoders")
				}
			})
		})
	}
}

// A store that goes on with other columns keeps its identity and its encoders.
func TestChangedColumnsReplaceOnlyTheDescription(t *testing.T) {
	d := fake.Widgets
	const life = 3 * time.Minute // long enough for the CRD to have settled
	steps := []step{
		{"crd", fake.CRD(1, "p", "A")},
		{"table", fake.Table("A", "Name.")},
		{"watchlist", d.EndedAfter(life, d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"crd", fake.CRD(2, "p", "B")},
		{"table", fake.Table("B", "Name.")},
		{"watch 10", d.Stream(d.Bookmark("20"))},
		{"metadata", d.PageBody("10", "", "a/x@3")},
		{"crd", fake.CRD(2, "p", "B")},
	}
	run(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, e *env) {
		e.lookup()
		pass(life / 2)
		before := e.check(t, 10, "a/x")
		columns := before.Resource.Columns
		pass(life)
		e.CheckPlayed(t)
		after := e.check(t, 20, "a/x")
		if after.Store != before.Store || after.Encoders != before.Encoders || after.Fence != before.Fence {
			t.Error("it is another store")
		}
		select {
		case <-before.ColumnsChanged():
		default:
			t.Error("watches of Tables go on with the columns before")
		}
		select {
		case <-after.ColumnsChanged():
			t.Error("watches of Tables end with the columns of now")
		default:
		}
		if before.Resource.Columns != columns || after.Resource.Columns == columns {
			t.Error("the description before has changed, or the description after has not")
		}
	})
}

func TestStoreThatDiffersIsRebuilt(t *testing.T) {
	d := fake.ConfigMaps
	steps := []step{
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"metadata", d.PageBody("10", "", "a/x@3")},
		{"metadata", fake.Refuse(http.StatusInternalServerError)}, // tells nothing
		{"metadata", d.PageBody("10", "", "a/y@3")},
		{"watchlist", d.Stream(d.Added("a/y@3"), d.InitialEventsEnd("20"))},
	}
	run(t, d, Options{CheckEvery: time.Minute}, steps, func(t *testing.T, e *env) {
		e.lookup()
		pass(time.Second)
		for len(e.Calls()) < 4 {
			e.check(t, 10, "a/x")
			pass(30 * time.Second)
		}
		pass(5 * time.Second)
		e.check(t, 20, "a/y")
		if n := e.registry.entries.get(d.GVR).mismatches.Load(); n != 1 {
			t.Errorf("%d mismatches were counted", n)
		}
	})
}

func TestCachedResourceKnowsWhetherTheAPIServerHasStreamingLists(t *testing.T) {
	d := fake.ConfigMaps
	for want, steps := range map[bool][]step{
		true:  {{"watchlist", d.Stream(d.InitialEventsEnd("10"))}},
		false: {{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)}, {"page", d.PageBody("10", "")}},
	} {
		run(t, d, Options{}, steps, func(t *testing.T, e *env) {
			e.lookup()
			pass(time.Second)
			if got := e.check(t, 10).StreamingLists; got != want {
				t.Errorf("has streaming lists: %v, want %v", got, want)
			}
		})
	}
}
