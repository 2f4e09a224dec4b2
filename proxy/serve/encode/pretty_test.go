package encode_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		e := handlertest.New(t, servetest.AgingFoos(t, 700, servetest.SpreadAges), serve.Options{Encoded: tree.NewBudget(1 << 30)})
		for _, d := range servetest.Pauses[1:4] {
			time.Sleep(d)
			for _, accept := range []string{"application/json", servetest.AsMetadata, servetest.AsTable} {
				for _, query := range []string{"0", "0&labelSelector=even%3Dtrue", "1&resourceVersionMatch=NotOlderThan&limit=300"} {
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
