package list_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/discovery"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPagesAddUpToTheListAtTheirVersion(t *testing.T) {
	for _, path := range []string{servetest.FooList + "?", "/apis/ex.io/v1/namespaces/ns/foos?", servetest.FooList + "?labelSelector=even%3Dtrue&"} {
		for _, limit := range []int{1, 7, 49, 50, 51, 99, 100, 101} {
			e := handlertest.New(t, servetest.Foos(100), serve.Options{})
			e.Resource.Fence.Forward(1 << 20) // so that no page is a lone read
			whole := e.List(path + "resourceVersion=0")
			want := whole.Names()
			var got []string
			page := path + "limit=" + strconv.Itoa(limit)
			for token := ""; ; {
				l := e.List(page + token)
				got = append(got, l.Names()...)
				if l.Metadata.ResourceVersion != "100" {
					t.Fatalf("%s: page at version %s", page, l.Metadata.ResourceVersion)
				}
				if l.Metadata.Continue == "" {
					break
				}
				token = "&continue=" + url.QueryEscape(l.Metadata.Continue)
				version := e.Resource.Store.Snapshot().Version + 1
				e.Apply(cache.Modified, servetest.Foo(50, version))
				e.Apiserver.Set(version, 0)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: pages of %d have %d objects, the list %d", path, limit, len(got), len(want))
			}
		}
	}
}

// The token is relative to the prefix of the list; remainingItemCount is only known without selectors
// (wire.md 4.5, 5).
func TestPageTellsWhatRemainsAsTheAPIServerDoes(t *testing.T) {
	one := func(n int64) *int64 { return &n }
	for _, row := range []struct {
		url       string
		token     string
		remaining *int64
	}{
		{servetest.FooList + "?limit=2", servetest.Token(t, 5, "/ns/f000001\x00"), one(3)},
		{"/apis/ex.io/v1/namespaces/ns/foos?limit=2", servetest.Token(t, 5, "/f000001\x00"), one(3)},
		{servetest.FooList + "?limit=2&labelSelector=even%3Dtrue", servetest.Token(t, 5, "/ns/f000002\x00"), nil},
		{servetest.FooList + "?limit=3&labelSelector=even%3Dtrue", "", nil},                                        // no key follows
		{servetest.FooList + "?limit=2&labelSelector=even%3Dfalse", servetest.Token(t, 5, "/ns/f000003\x00"), nil}, // a key follows that does not match
		{servetest.FooList + "?limit=5", "", nil},
		{servetest.FooList + "?limit=5&resourceVersion=0", "", nil},
	} {
		e := handlertest.New(t, servetest.Foos(5), serve.Options{})
		m := e.List(row.url).Metadata
		if m.Continue != row.token {
			t.Errorf("%s: token %q, want %q", row.url, m.Continue, row.token)
		}
		if (m.RemainingItemCount == nil) != (row.remaining == nil) || m.RemainingItemCount != nil && *m.RemainingItemCount != *row.remaining {
			t.Errorf("%s: wrong number of remaining objects", row.url)
		}
	}
}

// The apiserver indexes the newest state of a built-in resource, and sees there that nothing follows that matches (wire.md
// 4.5).
func TestPageByAnIndexedFieldEndsWhereTheAPIServerKnowsIt(t *testing.T) {
	const byNode, exactly = servetest.FooList + "?fieldSelector=spec.nodeName%3Da", "&resourceVersion=6&resourceVersionMatch=Exact"
	for _, row := range []struct {
		style codec.Style
		kind  string
		query string
		last  string // before the next page; empty if there is none
	}{
		{codec.Typed, "Pod", "&limit=1", "f000000"},
		{codec.Typed, "Pod", "&limit=2", ""},
		{codec.Typed, "Pod", "&limit=2" + exactly, "f000002"},
		{codec.Typed, "PodCertificateRequest", "&limit=2", "f000002"},
		{codec.Unstructured, "Pod", "&limit=2", "f000002"},
	} {
		c, fields := servetest.Foos(6), discovery.BuiltinFields("v1", "Pod", nil)
		var objects []*tree.Object
		for i := range 6 {
			o := servetest.Foo(i, uint64(i+1))
			o.Fields = make([]string, *fields.Index()+1)
			o.Fields[*fields.Index()] = map[int]string{0: "a", 2: "a"}[i]
			objects = append(objects, o)
		}
		c.Store = cache.New(cache.Options{Index: fields.Index()}, objects, 6).Store
		c.Description.Fields, c.Description.Resource.Style, c.Description.Resource.Kind = fields, row.style, row.kind
		m, want := handlertest.New(t, c, serve.Options{}).List(byNode+row.query).Metadata, ""
		if row.last != "" {
			want = servetest.Token(t, 6, "/ns/"+row.last+"\x00")
		}
		if m.Continue != want || m.RemainingItemCount != nil {
			t.Errorf("style %v, %s, %s: token %q, want %q", row.style, row.kind, row.query, m.Continue, want)
		}
	}
}

// The body depends neither on the content coding nor on what is memoized. It is compressed if it is
// longer than 128 KiB and the client accepts that.
func TestListIsTheSameInEveryCoding(t *testing.T) {
	queries := []string{"0", "0&labelSelector=even%3Dtrue", "0&pretty=true", "1&resourceVersionMatch=NotOlderThan&limit=700"}
	for _, accept := range []string{"application/json", servetest.AsMetadata, "application/yaml", "application/cbor", servetest.AsTable} {
		for _, objects := range []int{1, 300, 1400} {
			plain := handlertest.New(t, servetest.Tables(t, objects), serve.Options{})
			memoizing := handlertest.New(t, plain.Resource, serve.Options{Encoded: tree.NewBudget(1 << 30)})
			for _, query := range queries {
				url := servetest.FooList + "?resourceVersion=" + query
				want := servetest.Decoded(t, plain.Get(url, http.Header{"Accept": {accept}}))
				for i, coding := range []string{"", "gzip", "zstd"} {
					for _, e := range [][]*servetest.Env{{memoizing, memoizing}, {plain, memoizing, memoizing}}[min(i, 1)] {
						w := e.Get(url, http.Header{"Accept": {accept}, "Accept-Encoding": {coding}})
						compressed := w.Header().Get("Content-Encoding") != ""
						if long := coding != "" && len(want) > response.CompressFrom; compressed != long {
							t.Errorf("%s as %s in %q: %d bytes, compressed %v", url, accept, coding, len(want), compressed)
						}
						if got := servetest.Decoded(t, w); !bytes.Equal(got, want) {
							t.Errorf("%s as %s in %q: %d bytes, want %d", url, accept, coding, len(got), len(want))
						}
					}
				}
			}
		}
	}
}

// A page shares the whole segments in it with all readers, and nothing of a part of a segment.
func TestPagesAreMadeOfMemoizedSegments(t *testing.T) {
	for _, row := range []struct{ accept, coding string }{{servetest.AsTable, ""}, {servetest.AsTable, "gzip"}, {"application/json", "gzip"}} {
		memos := func(limit int) int64 {
			budget := tree.NewBudget(1 << 30)
			e := handlertest.New(t, servetest.Tables(t, 1500), serve.Options{Encoded: budget})
			url := fmt.Sprintf("%s?resourceVersion=1&resourceVersionMatch=NotOlderThan&limit=%d", servetest.FooList, limit)
			e.Get(url, http.Header{"Accept": {row.accept}, "Accept-Encoding": {row.coding}})
			return budget.Used()
		}
		if few, many := memos(10), memos(1200); few != 0 || many == 0 {
			t.Errorf("%v: pages of 10 and 1200 objects memoize %d and %d bytes", row, few, many)
		}
	}
}

// A list with an object that cannot be encoded passes if nothing of it has been sent, and leaves no
// header behind. Later it is aborted. From then on every list in this format passes, but not in others.
func TestListThatCannotBeEncodedPassesUntilItsFirstByte(t *testing.T) {
	for _, row := range []struct {
		objects, broken int
		coding          string
		aborted         bool
	}{
		{10, 5, "", false},
		{2000, 5, "gzip", false},
		{2000, 5, "zstd", false},
		{30_000, 29_999, "gzip", true},
		{30_000, 29_999, "zstd", true},
		{5000, 4999, "", true},
	} {
		t.Run(fmt.Sprintf("%d of %d %s", row.broken, row.objects, row.coding), func(t *testing.T) {
			e := handlertest.New(t, servetest.Foos(row.objects), serve.Options{Encoded: tree.NewBudget(1 << 30)})
			broken := servetest.Foo(row.broken, uint64(row.objects+1))
			broken.Data = []byte(`{"metadata":{"labels":1}}`)
			e.Apply(cache.Modified, broken)
			w := httptest.NewRecorder()
			w.Header().Set("Outer", "filter")
			defer func() {
				if got := recover(); (got == http.ErrAbortHandler) != row.aborted || (e.Passed == nil) != row.aborted {
					t.Errorf("recovered %v, passed %v", got, e.Passed != nil)
				}
				if !row.aborted && (len(w.Header()) != 1 || w.Header().Get("Outer") != "filter") {
					t.Errorf("headers are left: %v", w.Header())
				}
				again := e.Request(servetest.FooList+"?resourceVersion=0&limit=1", http.Header{"Accept": {servetest.AsMetadata}})
				if outcome := e.Do(httptest.NewRecorder(), again); e.Passed == nil || outcome.Reason != "format" {
					t.Errorf("the next list: outcome %+v", outcome)
				}
				e.Get(servetest.FooList+"?resourceVersion=0", nil)
			}()
			outcome := e.Do(w, e.Request(servetest.FooList+"?resourceVersion=0", http.Header{"Accept": {servetest.AsMetadata}, "Accept-Encoding": {row.coding}}))
			if outcome != (request.Outcome{Reason: "format"}) {
				t.Errorf("outcome %+v", outcome)
			}
		})
	}
}

func TestListHasTheHeadersOfTheAPIServer(t *testing.T) {
	e := handlertest.New(t, servetest.Foos(3), serve.Options{})
	e.Resource.Warnings = []string{`299 - "ex.io/v1 Foo is deprecated"`}
	w := httptest.NewRecorder()
	w.Header().Set("Warning", `299 - "outer"`)
	e.Do(w, e.Request(servetest.FooList+"?resourceVersion=0", http.Header{"Audit-Id": {"id"}}))
	for name, want := range map[string][]string{
		"Audit-Id": {"id"}, "Cache-Control": {"no-cache, private"}, "Content-Type": {"application/json"},
		"Warning": {`299 - "outer"`, `299 - "ex.io/v1 Foo is deprecated"`}, "Etag": nil, "Vary": nil,
	} {
		if got := w.Header()[name]; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// failing is a ResponseWriter that fails after some bytes.
type failing struct {
	http.ResponseWriter
	left int
}

// Write implements http.ResponseWriter.
func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, servetest.ErrDeadline
	}
	return len(p), nil
}

func TestListThatIsNotAcceptedIsAborted(t *testing.T) {
	for _, coding := range []string{"", "gzip", "zstd"} {
		for _, query := range []string{"", "&labelSelector=even%3Dtrue"} {
			e := handlertest.New(t, servetest.Foos(5000), serve.Options{})
			func() {
				defer func() {
					if got := recover(); got != http.ErrAbortHandler || e.Passed != nil {
						t.Errorf("%q: recovered %v, passed %v", coding, got, e.Passed != nil)
					}
				}()
				w := &failing{httptest.NewRecorder(), 1000}
				e.Do(w, e.Request(servetest.FooList+"?resourceVersion=0"+query, http.Header{"Accept-Encoding": {coding}}))
			}()
		}
	}
}

// The apiserver supports lists as metadata only by the name of the list.
func TestPassedListAsksForWhatTheAPIServerSupports(t *testing.T) {
	const single = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	for _, strict := range []bool{false, true} {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{Strict: strict})
		e.Missing = "excluded"
		r := e.Request(servetest.FooList, http.Header{"Accept": {single}})
		e.Do(httptest.NewRecorder(), r)
		want := servetest.AsMetadata
		if strict {
			want = single
		}
		if got := e.Passed.Header.Get("Accept"); got != want {
			t.Errorf("strict %v: forwarded with %s", strict, got)
		}
		if got := r.Header.Get("Accept"); got != single {
			t.Errorf("strict %v: the request of the caller has %s", strict, got)
		}
	}
}

// The apiserver looks at each object that a selector does not match, unless it has an index.
func TestScannedIsWhatASelectorDoesNotMatch(t *testing.T) {
	e := handlertest.New(t, servetest.Foos(10), serve.Options{})
	for query, want := range map[string]int64{
		"?resourceVersion=0":                            0,
		"?resourceVersion=0&labelSelector=even=true":    5,
		"?resourceVersion=0&labelSelector=even=perhaps": 10,
	} {
		r := e.Request(foosPath+query, http.Header{})
		e.Handler.ServeHTTP(httptest.NewRecorder(), r)
		if got := request.From(r.Context()).Scanned; got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}
