package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/proxy/request"
)

const oneFoo = "/apis/ex.io/v1/namespaces/ns/foos/f000001?resourceVersion=0"

func TestGetIsTheStoredObject(t *testing.T) {
	e := newEnv(t, foos(3), Options{})
	want := string(foo(1, 2).Data)
	if got := e.get(oneFoo, nil).Body.String(); got != want+"\n" {
		t.Errorf("got %s, want %s", got, want)
	}
	e.apply(cache.Modified, foo(1, 4))
	if got := e.get(oneFoo, nil).Body.String(); got != string(foo(1, 4).Data)+"\n" {
		t.Errorf("got %s after an update", got)
	}
}

func TestGetOfNoObjectIsNotFound(t *testing.T) {
	for _, url := range []string{
		"/apis/ex.io/v1/namespaces/ns/foos/x?resourceVersion=0",
		"/apis/ex.io/v1/namespaces/other/foos/f000001?resourceVersion=2",
	} {
		e := newEnv(t, foos(3), Options{})
		w := httptest.NewRecorder()
		outcome := e.serve(w, e.request(url, nil))
		if w.Code != http.StatusNotFound || outcome.Source != request.SourceCache {
			t.Errorf("%s: code %d, outcome %+v", url, w.Code, outcome)
		}
	}
}

func TestGetThatCannotBeEncodedPasses(t *testing.T) {
	e := newEnv(t, foos(3), Options{})
	broken := foo(1, 4)
	broken.Data = []byte(`{"metadata":`)
	e.apply(cache.Modified, broken)
	w := httptest.NewRecorder()
	outcome := e.serve(w, e.request(oneFoo, http.Header{"Accept": {"application/yaml"}}))
	if outcome != (request.Outcome{Reason: "format"}) || len(w.Header()) > 0 {
		t.Errorf("outcome %+v, headers %v", outcome, w.Header())
	}
}

// An object of some KB can be made that is a hundred times as long when it is indented.
func TestGetOfAnObjectThatExpandsPasses(t *testing.T) {
	for _, accept := range []string{"application/yaml", "application/json;pretty=1"} {
		e := newEnv(t, foos(3), Options{})
		deep := foo(1, 4)
		deep.Data = fmt.Appendf(nil, `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"f000001"},"spec":%s1%s}`,
			strings.Repeat(`{"a":`, 2000), strings.Repeat("}", 2000))
		e.apply(cache.Modified, deep)
		w := httptest.NewRecorder()
		outcome := e.serve(w, e.request(oneFoo, http.Header{"Accept": {accept}}))
		if outcome != (request.Outcome{Reason: "format"}) || len(w.Header()) > 0 {
			t.Errorf("%s: outcome %+v, headers %v, %d bytes", accept, outcome, w.Header(), w.Body.Len())
		}
	}
}

// When a lease expires in etcd, several objects are deleted at one version. A list of the most recent state shows
// all of these deletions or none.
func TestListOfTheMostRecentStateIsNotBetweenTwoDeletionsOfOneVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, largeFoos(3), Options{})
		e.apiserver.slow = time.Second
		time.AfterFunc(time.Second/2, func() { // they arrive while the state before them is being proven
			e.apply(cache.Deleted, foo(0, 4))
			e.apply(cache.Deleted, foo(1, 4))
		})
		if l := e.list(fooList); l.Metadata.ResourceVersion != "3" || len(l.Items) != 3 {
			t.Errorf("%d objects at version %s", len(l.Items), l.Metadata.ResourceVersion)
		}
		if err := e.resource.Store.ApplyBookmark(5); err != nil {
			t.Fatal(err)
		}
		e.apiserver.set(5, 0)
		if l := e.list(fooList); l.Metadata.ResourceVersion != "5" || len(l.Items) != 1 {
			t.Errorf("%d objects at version %s", len(l.Items), l.Metadata.ResourceVersion)
		}
	})
}
