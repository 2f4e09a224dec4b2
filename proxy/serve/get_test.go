package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

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
		e := newEnv(t, foos(3), Options{Features: Features{ETags: true}})
		w := httptest.NewRecorder()
		outcome := e.serve(w, e.request(url, nil))
		if w.Code != http.StatusNotFound || outcome.Source != request.SourceCache || w.Header().Get("ETag") != "" {
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

func TestEntityTagsDifferWhereBytesMay(t *testing.T) {
	e := newEnv(t, tables(t, 3), Options{Features: Features{ETags: true}})
	e.apiserver.setListed(3, slices.Collect(e.resource.Store.Snapshot().Objects(cache.Range{}))...)
	seen := map[string]string{}
	check := func(url string, header http.Header) {
		t.Helper()
		what := url + " " + header.Get("Accept") + header.Get("Accept-Encoding")
		tag := e.get(url, header).Header().Get("ETag")
		if again := e.get(url, header).Header().Get("ETag"); again != tag || tag == "" {
			t.Errorf("%s: tags %s and %s", what, tag, again)
		}
		if other, ok := seen[tag]; ok {
			t.Errorf("%s and %s have the same tag", what, other)
		}
		seen[tag] = what
	}
	for _, url := range []string{
		oneFoo, "/apis/ex.io/v1/namespaces/ns/foos/f000002?resourceVersion=0", fooList + "?resourceVersion=0",
		"/apis/ex.io/v1/namespaces/ns/foos?resourceVersion=0", fooList + "?resourceVersion=0&labelSelector=even%3Dtrue",
		fooList + "?limit=1", fooList + "?limit=2", fooList + "?continue=" + token(t, 3, "/ns/f000000\x00"),
	} {
		for _, accept := range []string{"application/json", "application/yaml", "application/cbor"} {
			for _, coding := range []string{"", "gzip", "zstd"} {
				check(url, http.Header{"Accept": {accept}, "Accept-Encoding": {coding}})
			}
		}
	}
	e.apply(cache.Added, foo(3, 4))
	check(fooList+"?resourceVersion=0", nil)
}

func TestResponsesThatDependOnTheTimeHaveNoEntityTag(t *testing.T) {
	e := newEnv(t, tables(t, 3), Options{Features: Features{ETags: true}})
	if tag := e.get(fooList+"?resourceVersion=0", http.Header{"Accept": {asTable}}).Header().Get("ETag"); tag != "" {
		t.Errorf("tag %s", tag)
	}
	e = newEnv(t, foos(3), Options{})
	if tag := e.get(fooList+"?resourceVersion=0", nil).Header().Get("ETag"); tag != "" {
		t.Errorf("tag %s without the feature", tag)
	}
}

func TestUnmodifiedResponsesAre304(t *testing.T) {
	for _, url := range []string{oneFoo, fooList + "?resourceVersion=0"} {
		e := newEnv(t, foos(3), Options{Features: Features{ETags: true}})
		tag := e.get(url, nil).Header().Get("ETag")
		w := e.get(url, http.Header{"If-None-Match": {tag}})
		if w.Code != http.StatusNotModified || w.Body.Len() > 0 || w.Header().Get("ETag") != tag || w.Header().Get("Content-Type") != "" {
			t.Errorf("%s: code %d, headers %v", url, w.Code, w.Header())
		}
		e.apply(cache.Modified, foo(1, 4))
		if w := e.get(url, http.Header{"If-None-Match": {tag}}); w.Code != http.StatusOK || w.Header().Get("ETag") == tag {
			t.Errorf("%s: code %d after an update", url, w.Code)
		}
	}
}

// When a lease expires in etcd, several objects are deleted at one version. A list of any version may be
// between two of these deletions.
func TestListBetweenTwoDeletionsOfOneVersionHasNoEntityTag(t *testing.T) {
	e := newEnv(t, foos(3), Options{Features: Features{ETags: true}})
	const list = "/apis/ex.io/v1/foos?resourceVersion=0"
	for i := range 2 {
		e.apply(cache.Deleted, foo(i, 4))
		if w := e.get(list, nil); w.Header().Get("ETag") != "" || !strings.Contains(w.Body.String(), `"resourceVersion":"4"`) {
			t.Errorf("after deletion %d: headers %v, %s", i, w.Header(), w.Body)
		}
	}
	if err := e.resource.Store.ApplyBookmark(5); err != nil {
		t.Fatal(err)
	}
	if w := e.get(list, nil); w.Header().Get("ETag") == "" {
		t.Errorf("headers %v", w.Header())
	}
}
