package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/resources"
	"sluice/test/support/servetest"
)

// newSomeEnv returns an environment whose caller may read the namespaces a and c, of a, b and c with three objects each.
func newSomeEnv(t *testing.T) *env {
	var objects []*tree.Object
	for i, ns := range []string{"a", "a", "a", "b", "b", "b", "c", "c", "c"} {
		o := servetest.Foo(i, uint64(i+1))
		name := o.Key.Name()
		o.Key = tree.KeyOf(ns, name)
		o.Data = fmt.Appendf(nil, `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":%q,"namespace":%q,"resourceVersion":"%d"}}`, name, ns, o.RV)
		objects = append(objects, o)
	}
	c := servetest.Foos(0)
	c.Store = cache.New(cache.Options{HistoryBytes: 1 << 20}, objects, 9).Store
	e := newEnv(t, c, Options{})
	e.Access.Allowed, e.Access.Some = false, []string{"a", "c"}
	return e
}

const somePath = "/apis/ex.io/v1/foos"

func TestPagesOfSomeNamespacesTellNothingOfOthers(t *testing.T) {
	e := newSomeEnv(t)
	for limit, want := range map[int]string{
		1: "f000000@1 | f000001@2 | f000002@3 | f000006@7 | f000007@8 | f000008@9",
		3: "f000000@1 f000001@2 f000002@3 | f000006@7 f000007@8 f000008@9",
		4: "f000000@1 f000001@2 f000002@3 f000006@7 | f000007@8 f000008@9",
		6: "f000000@1 f000001@2 f000002@3 f000006@7 f000007@8 f000008@9",
	} {
		var pages []string
		for next, first := "", true; first || next != ""; first = false {
			l := e.List(fmt.Sprintf("%s?limit=%d&continue=%s", somePath, limit, next))
			if l.Metadata.RemainingItemCount != nil {
				t.Errorf("%d remain", *l.Metadata.RemainingItemCount)
			}
			pages, next = append(pages, strings.Join(l.Names(), " ")), l.Metadata.Continue
		}
		if got := strings.Join(pages, " | "); got != want {
			t.Errorf("limit %d: %s, want %s", limit, got, want)
		}
	}
	// The objects after the last page are not visible.
	e.Access.Some = []string{"a"}
	if l := e.List(somePath + "?limit=3"); l.Metadata.Continue != "" {
		t.Errorf("continues with %s", l.Metadata.Continue)
	}
	// A page may begin anywhere.
	for start, want := range map[string][]string{"/b/f000003\x00": nil, "/": {"f000000@1", "f000001@2", "f000002@3"}, "/c/f": nil} {
		e.Access.Some = []string{"a"}
		l := e.List(somePath + "?continue=" + servetest.Token(t, 9, start))
		if got := l.Names(); !slices.Equal(got, want) {
			t.Errorf("a page from %q has %v", start, got)
		}
	}
}

func TestReadsOfSomeNamespacesNeverPassForAWhile(t *testing.T) {
	for _, row := range []struct {
		query   string
		missing string // why the resource is not cached
		version uint64 // of the apiserver; 0 proves nothing
		want    string
	}{
		{"", "", 9, "served"},
		{"?limit=1", "", 9, "served"},
		{"?resourceVersion=0", resources.NotInSync, 9, "503"},
		{"", resources.NotInSync, 9, "503"},
		{"", resources.NotRunning, 9, "503"},
		{"?watch=1", resources.StoresTooLarge, 9, "503"},
		{"", "", 0, "503"},
		{"?resourceVersion=99", "", 9, "504"},
		{"?resourceVersion=99&resourceVersionMatch=Exact", "", 9, "504"},
		{"?continue=" + servetest.Token(t, 1, "/a/f000001\x00"), "", 9, "410"},
		{"?watch=1&resourceVersion=9", "", 9, "410"}, // no list went before
		{"?watch=1&" + servetest.Streaming, "", 0, "503"},
		{"", resources.NotCacheable, 9, "passed"},
		{"", resources.Excluded, 9, "passed"},
		{"?limit=x", "", 9, "passed"},
	} {
		servetest.InBubble(t, func(t *testing.T) {
			e := newSomeEnv(t)
			e.Missing = row.missing
			e.Apiserver.Set(row.version, 0)
			w := &servetest.WatchClient{}
			outcome := e.Do(w, e.Request(somePath+row.query, nil))
			got := answered(e, w, outcome)
			if got != row.want {
				t.Errorf("%s, %s: %s, want %s (%+v)", row.query, row.missing, got, row.want, outcome)
			}
			warns := strings.Contains(strings.Join(w.Header()["Warning"], " "), "only the namespaces that you may read")
			if warns != (got == "served") {
				t.Errorf("%s: warnings %q", row.query, w.Header()["Warning"])
			}
			if got == "503" && w.Header().Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", row.query)
			}
		})
	}
}

func TestWatchOfSomeNamespacesHasNoEventsOfOthers(t *testing.T) {
	servetest.InBubble(t, func(t *testing.T) {
		e := newSomeEnv(t)
		w := e.Watch(somePath+"?watch=1&resourceVersion=0", http.Header{})
		_ = w.Take()
		for i, ns := range []string{"a", "b", "c"} {
			o := servetest.Foo(20+i, uint64(20+i))
			o.Key = tree.KeyOf(ns, o.Key.Name())
			e.Apply(cache.Added, o)
		}
		synctest.Wait()
		if got := strings.Join(w.Take(), " "); strings.Contains(got, "f000021") || !strings.Contains(got, "f000020") || !strings.Contains(got, "f000022") {
			t.Errorf("events %s", got)
		}
	})
}

// A watch goes on only from a list that is known here: a list that the apiserver answered instead would expire it again and again.
func TestListWithOtherRightsThanBeforeDoesNotPass(t *testing.T) {
	servetest.InBubble(t, func(t *testing.T) {
		e := newSomeEnv(t)
		e.Apiserver.Set(9, 0)
		e.List(somePath)
		e.Access.Allowed = true
		e.Apiserver.Set(10, 10)
		l := e.List(somePath)
		if e.Passed != nil {
			t.Fatal("the list passes")
		}
		w := e.Watch(somePath+"?watch=1&resourceVersion="+l.Metadata.ResourceVersion, nil)
		if code, _ := w.State(); code != http.StatusOK {
			t.Errorf("the watch gets %d", code)
		}
	})
}

// Between a change of rights and the recheck of an open watch another read of the same caller can be the first to show what it may
// read now. The watch is then at later versions, but has shown the namespaces of before. Its client may never have the error that
// ends it.
func TestWatchThatOutlivesItsRightsDoesNotGoOn(t *testing.T) {
	for name, end := range map[string]func(*env, *servetest.WatchClient){
		"its client leaves": func(_ *env, w *servetest.WatchClient) { w.Leave() },
		"it is expired": func(e *env, _ *servetest.WatchClient) {
			e.Access.Set(false, nil)
			e.Access.Change()
		},
	} {
		t.Run(name, func(t *testing.T) {
			servetest.InBubble(t, func(t *testing.T) {
				e := newSomeEnv(t)
				e.Apiserver.Set(9, 9)
				w := e.Watch(somePath+"?watch=1&resourceVersion=0", nil)
				e.Access.Mu.Lock()
				e.Access.Some = []string{"a", "b", "c"}
				e.Access.Mu.Unlock()
				e.List(somePath)
				o := servetest.Foo(20, 20)
				o.Key = tree.KeyOf("a", o.Key.Name())
				e.Apply(cache.Added, o)
				synctest.Wait()
				if got := strings.Join(w.Take(), " "); !strings.Contains(got, "f000020@20") {
					t.Fatalf("the watch has %s", got)
				}
				end(e, w)
				<-w.Done
				e.Access.Set(true, nil)
				again := e.Watch(somePath+"?watch=1&resourceVersion=20", nil)
				if code, _ := again.State(); code != http.StatusGone {
					t.Errorf("the watch goes on with %d", code)
				}
				e.Apiserver.Set(21, 21)
				l := e.List(somePath + "?resourceVersion=0")
				again = e.Watch(somePath+"?watch=1&resourceVersion="+l.Metadata.ResourceVersion, nil)
				if code, _ := again.State(); code != http.StatusOK || again.Ended() {
					t.Errorf("after another list the watch gets %d", code)
				}
			})
		})
	}
}
