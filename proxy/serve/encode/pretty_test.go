package encode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

// indented returns compact JSON as the apiserver indents it.
func indented(t *testing.T, compact []byte) []byte {
	t.Helper()
	var want bytes.Buffer
	if err := json.Indent(&want, bytes.TrimSpace(compact), "", "  "); err != nil {
		t.Fatal(err)
	}
	return want.Bytes()
}

func TestPrettyListsAreTheCompactOnesIndented(t *testing.T) {
	servetest.InBubble(t, func(t *testing.T) {
		e := handlertest.New(t, servetest.AgingFoos(t, 2000, servetest.SpreadAges), serve.Options{Encoded: tree.NewBudget(1 << 30)})
		for _, d := range servetest.Pauses {
			time.Sleep(d)
			for _, accept := range []string{"application/json", servetest.AsMetadata, servetest.AsTable} {
				for _, query := range []string{"0", "0&labelSelector=even%3Dtrue", "1&resourceVersionMatch=NotOlderThan&limit=700"} {
					url := servetest.FooList + "?resourceVersion=" + query
					want := indented(t, servetest.Decoded(t, e.Get(url, http.Header{"Accept": {accept}})))
					for _, coding := range servetest.Codings {
						w := e.Get(url+"&pretty=true", http.Header{"Accept": {accept}, "Accept-Encoding": {coding}})
						if got := servetest.Decoded(t, w); !bytes.Equal(got, want) {
							t.Fatalf("%s as %s in %q: %d bytes, want %d", url, accept, coding, len(got), len(want))
						}
					}
				}
			}
		}
	})
}

// The text of 10,000 pods fits into the default budget once, but not indented.
func TestPrettyListsAreMadeOfTheMemosOfCompactOnes(t *testing.T) {
	lists := func(accept string, limit int64) (compact, both int64) {
		budget := tree.NewBudget(limit)
		e := handlertest.New(t, servetest.Tables(t, 2000), serve.Options{Encoded: budget})
		list := func(pretty bool) int64 {
			e.Get(fmt.Sprint(servetest.FooList, "?resourceVersion=0&pretty=", pretty), http.Header{"Accept": {accept}})
			return budget.Used()
		}
		return list(false), list(true)
	}
	for _, accept := range []string{servetest.AsMetadata, servetest.AsTable} {
		ample, memoized := lists(accept, 1<<30)
		if memoized <= ample {
			t.Errorf("%s: memos have %d bytes, %d with the pretty list", accept, ample, memoized)
		}
		if compact, both := lists(accept, ample); compact != ample || both != ample {
			t.Errorf("%s: memos have %d bytes of %d, %d with the pretty list", accept, compact, ample, both)
		}
	}
}

// An object that expands many times does so among others too.
func TestPrettyListWithAnObjectThatExpandsPasses(t *testing.T) {
	const objects = 2000
	for _, row := range []struct{ accept, query string }{
		{"application/json", "pretty=true"},
		{servetest.AsTable, "pretty=true&includeObject=Object"},
	} {
		e := handlertest.New(t, servetest.Tables(t, objects), serve.Options{Encoded: tree.NewBudget(1 << 30)})
		o := servetest.Foo(7, objects+1)
		deep := `{"spec":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `,`
		o.Data = append([]byte(deep), o.Data[1:]...)
		e.Apply(cache.Modified, o)
		r := e.Request(servetest.FooList+"?resourceVersion=0&"+row.query, http.Header{"Accept": {row.accept}, "Accept-Encoding": {"gzip"}})
		if outcome := e.Do(httptest.NewRecorder(), r); e.Passed == nil || outcome.Reason != "format" {
			t.Errorf("%s: outcome %+v", row.accept, outcome)
		}
		e.Get(strings.Replace(servetest.FooList+"?resourceVersion=0&"+row.query, "pretty=true", "pretty=false", 1), http.Header{"Accept": {row.accept}})
	}
}
