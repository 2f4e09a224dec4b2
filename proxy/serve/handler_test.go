package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/plan"
	"sluice/test/support/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env is a Handler in its surroundings.
type env struct {
	*servetest.Env
	handler *Handler
}

func newEnv(t testing.TB, resource *resources.CachedResource, o Options) *env {
	e := servetest.New(t, resource)
	o.Resources = cmp.Or[plan.Resources](o.Resources, e)
	o.Access, o.Draining, o.Next = e.Access, e.Draining, http.HandlerFunc(e.Forward)
	o.Queue, o.Recheck = cmp.Or(o.Queue, limits.NewQueue(900, 225)), cmp.Or(o.Recheck, 30*time.Second)
	h := New(o)
	e.Handler = h
	return &env{e, h}
}

// answered returns how a read was answered: served, passed, or refused with a code.
func answered(e *env, w *servetest.WatchClient, o request.Outcome) string {
	switch {
	case e.Passed != nil:
		return "passed"
	case o.Source == request.SourceCache:
		return "served"
	}
	return fmt.Sprint(w.Code)
}

// A lookup can start a store of the whole resource, so it must come after the review of the read.
func TestResourceIsLookedUpOnlyForAnAuthorizedRead(t *testing.T) {
	for _, url := range []string{
		servetest.FooList + "?resourceVersion=0",
		servetest.FooList + "?watch=1&resourceVersion=9",
		servetest.FooList + "?resourceVersion=0&labelSelector=even%3Dtrue",
		servetest.FooList + "?resourceVersion=0&fieldSelector=metadata.name%3Da",
		"/apis/ex.io/v1/namespaces/ns/foos?resourceVersion=0",
		"/apis/ex.io/v1/namespaces/ns/foos/f000001?resourceVersion=0",
	} {
		e := newEnv(t, servetest.Foos(3), Options{})
		e.Missing, e.Access.Allowed = "not-in-sync", false
		e.Do(httptest.NewRecorder(), e.Request(url, nil))
		if len(e.Readers) != 0 {
			t.Errorf("%s: looked up for a read that is denied", url)
		}
		e.Access.Allowed = true
		e.Do(httptest.NewRecorder(), e.Request(url, nil))
		readers := slices.Compact(e.Readers) // it asks again when it has waited
		if !slices.Equal(readers, []string{"jane"}) {
			t.Errorf("%s: looked up for %q", url, readers)
		}
	}
}
