package fresh_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/request"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

// pastOutcome is how an exact read was answered.
type pastOutcome struct {
	reason      string
	took        time.Duration
	inventories int // so far
}

// checkPast serves a read of exactly a version.
func checkPast(t *testing.T, e *servetest.Env, url string, want pastOutcome) *httptest.ResponseRecorder {
	t.Helper()
	start, w := time.Now(), httptest.NewRecorder()
	outcome := e.Do(w, e.Request(url, nil))
	got := pastOutcome{outcome.Reason, time.Since(start), len(e.Apiserver.Scopes())}
	if got != want || (outcome.Source == request.SourceCache) != (e.Passed == nil) {
		t.Errorf("%s: %+v, want %+v", url, got, want)
	}
	return w
}

// The apiserver, or another Sluice, has answered the first page at a version that the store has not reached.
func TestPagesOfAListFromElsewhereComeFromTheStateOfTheirVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.Foos(4), serve.Options{})
		present := slices.Collect(e.Resource.Store.Snapshot().Objects(tree.Range{}))
		e.Apiserver.Set(9, 0)
		e.Apiserver.ListedAt = map[uint64][]*tree.Object{8: present, 9: present, 7: append(slices.Clone(present), servetest.Foo(7, 7))}
		page := func(version int64, after, more string) string {
			return servetest.FooList + "?limit=2&continue=" + url.QueryEscape(servetest.Token(t, version, "/ns/"+after+"\x00")) + more
		}
		check := func(w *httptest.ResponseRecorder, version, next string, names ...string) {
			t.Helper()
			var l servetest.FooNames
			if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil {
				t.Fatalf("%s: %v", w.Body, err)
			}
			if l.Metadata.ResourceVersion != version || l.Metadata.Continue != next || !slices.Equal(l.Names(), names) {
				t.Errorf("%+v", l)
			}
		}
		w := checkPast(t, e, page(8, "f000000", ""), pastOutcome{"past-version", ownWatchWait, 1})
		check(w, "8", servetest.Token(t, 8, "/ns/f000002\x00"), "f000001@2", "f000002@3")
		w = checkPast(t, e, page(8, "f000002", ""), pastOutcome{"past-version", 0, 1})
		check(w, "8", "", "f000003@4")
		w = checkPast(t, e, page(9, "f000000", ""), pastOutcome{"past-version", 0, 2}) // nothing to wait for: the resource is quiet
		check(w, "9", servetest.Token(t, 9, "/ns/f000002\x00"), "f000001@2", "f000002@3")
		w = checkPast(t, e, servetest.FooList+"?resourceVersion=8&resourceVersionMatch=Exact", pastOutcome{"past-version", 0, 2})
		check(w, "8", "", "f000000@1", "f000001@2", "f000002@3", "f000003@4")

		// A state that is not known passes.
		checkPast(t, e, page(7, "f000000", ""), pastOutcome{"version-not-reached", 0, 3})
		checkPast(t, e, page(7, "f000000", ""), pastOutcome{"version-not-reached", 0, 3})
		checkPast(t, e, page(6, "f000000", ""), pastOutcome{"version-not-reached", 0, 3}) // no such list
		e.Apply(cache.Added, servetest.Foo(7, 7))
		w = checkPast(t, e, page(7, "f000002", ""), pastOutcome{"past-version", 0, 3})
		check(w, "7", "", "f000003@4", "f000007@7")
		w = checkPast(t, e, page(8, "f000002", ""), pastOutcome{"past-version", 0, 3})
		check(w, "8", "", "f000003@4")
	})
}

// The last page of a long list costs the apiserver less than an inventory.
func TestLastPageOfALongListFromElsewherePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.PaddedFoos(200, 20<<10), serve.Options{})
		e.Apiserver.Set(400, 0)
		e.Apiserver.ListedAt = map[uint64][]*tree.Object{300: slices.Collect(e.Resource.Store.Snapshot().Objects(tree.Range{}))}
		page := servetest.FooList + "?limit=1&continue="
		checkPast(t, e, page+servetest.Token(t, 300, "/ns/f000199\x00"), pastOutcome{"version-not-reached", ownWatchWait, 0})
		checkPast(t, e, page+servetest.Token(t, 300, "/ns/f000001\x00"), pastOutcome{"past-version", ownWatchWait, 1})
		checkPast(t, e, page+servetest.Token(t, 300, "/ns/f000199\x00"), pastOutcome{"past-version", 0, 1})
	})
}
