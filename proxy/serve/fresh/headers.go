package fresh

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// Head sets the headers of a response from the cache, and its outcome. The caller must know
// that the body can be encoded: after it, the request cannot pass any more. The version is the version of the state
// that the response shows, or the one that a watch starts from.
func (a *Attempt) Head(h http.Header, p *plan.Plan, reason outcome.Hit, version uint64) {
	p.Info.Outcome = request.Outcome{
		Source: request.SourceCache, Reason: string(reason), Format: p.Format.Format().Encoding.String(),
		AsOf: request.AsOf{Version: version, Known: a.Known, Proof: string(reason)},
	}
	a.Budget.Served()
	response.Headers(h, &p.Info.Parsed)
	for _, warning := range warnings(p.Resource) {
		h.Add("Warning", warning)
	}
	h.Set("Content-Type", p.Format.ContentType(p.Verb == negotiate.Watch))
}

// staleAfter is how long the watch of a store may be disconnected before responses warn of it.
const staleAfter = 30 * time.Second

// warnings returns the values of the Warning header: the ones that the apiserver adds to reads of the
// resource, and one of Sluice if the apiserver has not been reachable for staleAfter. Reads that
// accept any version are still served then.
func warnings(c *resources.CachedResource) []string {
	upstream := c.Warnings
	disconnected := c.DisconnectedFor()
	if disconnected < staleAfter {
		return upstream
	}
	text := fmt.Sprintf("the apiserver has not been reachable for %v; this state may be as old", disconnected.Truncate(time.Second))
	return append(slices.Clone(upstream), fmt.Sprintf("299 - %q", text))
}
