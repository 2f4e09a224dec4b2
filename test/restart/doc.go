// Package restart tests that a single gateway can be restarted, and that the apiserver behind it can,
// without harm to clients: leaders keep their leases, and informers come back to be served from the
// cache.
package restart
