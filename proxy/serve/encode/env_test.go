package encode_test

import (
	"net/http"
	"testing"

	"sluice/proxy/resources"
	"sluice/proxy/serve"
	"sluice/test/support/servetest"
)

func newEnv(t testing.TB, c *resources.CachedResource, o serve.Options) *servetest.Env {
	e := servetest.New(t, c)
	o.Resources, o.Access, o.Draining, o.Next, o.PassedBytes = e, e.Access, e.Draining, http.HandlerFunc(e.Forward), 128<<20
	e.Handler = serve.New(o)
	return e
}
