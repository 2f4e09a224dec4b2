package list_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"sluice/proxy/request"
	"sluice/proxy/serve"
	"sluice/test/support/handlertest"
	"sluice/test/support/servetest"
)

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
