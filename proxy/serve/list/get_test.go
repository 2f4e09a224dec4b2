package list_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

const oneFoo = "/apis/ex.io/v1/namespaces/ns/foos/f000001?resourceVersion=0"

func TestGetOfNoObjectIsNotFound(t *testing.T) {
	for _, url := range []string{
		"/apis/ex.io/v1/namespaces/ns/foos/x?resourceVersion=0",
		"/apis/ex.io/v1/namespaces/other/foos/f000001?resourceVersion=2",
	} {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{})
		w := httptest.NewRecorder()
		outcome := e.Do(w, e.Request(url, nil))
		if w.Code != http.StatusNotFound || outcome.Source != request.SourceCache {
			t.Errorf("%s: code %d, outcome %+v", url, w.Code, outcome)
		}
	}
}

// longFoo returns an object with a text of length bytes.
func longFoo(length int) *tree.Object {
	o := servetest.Foo(1, 4)
	o.Data = fmt.Appendf(nil, `{"metadata":{"name":"f000001"},"text":"%s"}`, strings.Repeat("a", length))
	return o
}

// observed is a response that takes note of what its caller holds while it is written.
type observed struct {
	*httptest.ResponseRecorder
	ledger *limits.Ledger
	held   int64
}

// Write implements io.Writer.
func (o *observed) Write(p []byte) (int, error) {
	o.held = max(o.held, o.ledger.Usage().Held)
	return o.ResponseRecorder.Write(p)
}

// The text stays until the client has accepted it: 600 clients that did not read a ConfigMap of 1 MB took 600 MB.
func TestTextOfALongObjectCountsForItsReader(t *testing.T) {
	const length = 300 << 10
	for _, url := range []string{oneFoo, foosPath + "?resourceVersion=0"} {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{})
		e.Apply(cache.Modified, longFoo(length))
		e.Held = limits.NewLedger(64 << 10)
		pretty := http.Header{"Accept": {"application/json;pretty=1"}} // made for each reader
		w := httptest.NewRecorder()
		if outcome := e.Do(w, e.Request(url, pretty)); w.Code != http.StatusTooManyRequests || outcome.Reason != limits.TooMuch {
			t.Errorf("%s: code %d, %+v, without memory", url, w.Code, outcome)
		}
		e.Held = limits.NewLedger(1 << 30)
		o := &observed{ResponseRecorder: httptest.NewRecorder(), ledger: e.Held}
		e.Do(o, e.Request(url, pretty))
		if o.Code != http.StatusOK || o.held < length || o.held > 3*length {
			t.Errorf("%s: code %d: %d bytes are held of %d", url, o.Code, o.held, o.Body.Len())
		}
		if n := e.Held.Usage().Held; n != 0 {
			t.Errorf("%s: %d bytes are held in the end", url, n)
		}
	}
}

// Clients of one object of 1 MiB, whose text takes 6, had 600 texts made before the first one counted.
func TestTextOfALongObjectCountsBeforeItIsMade(t *testing.T) {
	const length = 300 << 10
	e := handlertest.New(t, servetest.Foos(3), serve.Options{})
	e.Apply(cache.Modified, longFoo(length))
	for held, want := range map[int64]int{2 * length: http.StatusTooManyRequests, 20 * length: http.StatusOK} {
		e.Held = limits.NewLedger(held)
		w := httptest.NewRecorder()
		if e.Do(w, e.Request(oneFoo, nil)); w.Code != want {
			t.Errorf("with %d bytes: code %d, want %d", held, w.Code, want)
		}
	}
}

func TestGetThatCannotBeEncodedPasses(t *testing.T) {
	// An object of some KB can be made that is a hundred times as long when it is indented.
	deep := `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"f000001"},"spec":` +
		strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2001)
	for _, row := range []struct{ accept, data string }{
		{"application/yaml", `{"metadata":`}, {"application/yaml", deep}, {"application/json;pretty=1", deep},
	} {
		e := handlertest.New(t, servetest.Foos(3), serve.Options{})
		o := servetest.Foo(1, 4)
		o.Data = []byte(row.data)
		e.Apply(cache.Modified, o)
		w := httptest.NewRecorder()
		outcome := e.Do(w, e.Request(oneFoo, http.Header{"Accept": {row.accept}}))
		if outcome != (request.Outcome{Reason: "format"}) || len(w.Header()) > 0 {
			t.Errorf("%s: outcome %+v, headers %v, %d bytes", row.accept, outcome, w.Header(), w.Body.Len())
		}
	}
}
