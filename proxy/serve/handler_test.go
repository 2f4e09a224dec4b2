package serve

import (
	"cmp"
	"net/http"
	"testing"

	"sluice/proxy/resources"
	"sluice/proxy/serve/servetest"
)

// env is a Handler in its surroundings.
type env struct {
	*servetest.Env
	handler *Handler
}

func newEnv(t testing.TB, resource *resources.CachedResource, o Options) *env {
	e := servetest.New(t, resource)
	o.Resources, o.Access, o.Draining, o.Next = e, e.Access, e.Draining, http.HandlerFunc(e.Forward)
	o.PassedBytes = cmp.Or(o.PassedBytes, 128<<20)
	h := New(o)
	e.Handler = h
	return &env{e, h}
}
