// Package handlertest serves a cached resource by the Handler of proxy/serve, for the tests of the packages below it.
package handlertest

import (
	"net/http"
	"testing"
	"time"

	"sluice/proxy/limits"
	"sluice/proxy/resources"
	"sluice/proxy/serve"
	"sluice/test/support/servetest"
)

// New returns what servetest.New returns, with a Handler of the options.
func New(t testing.TB, c *resources.CachedResource, o serve.Options) *servetest.Env {
	e := servetest.New(t, c)
	o.Resources, o.Access, o.Draining, o.Next, o.Queue = e, e.Access, e.Draining, http.HandlerFunc(e.Forward), limits.NewQueue(900, 225)
	if o.Recheck == 0 {
		o.Recheck = Recheck
	}
	e.Handler = serve.New(o)
	return e
}

// Recheck is the time between two checks of the access of a watch, unless the options say otherwise.
const Recheck = 30 * time.Second
