package serve

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/outcome"
)

// writeHeaders sets the headers of a response from the cache, and its outcome. The caller must know
// that the body can be encoded: after it, the request cannot pass any more.
func (p *plan) writeHeaders(h http.Header, reason outcome.Hit) {
	p.info.Outcome = request.Outcome{
		Source: request.SourceCache, Reason: string(reason), Format: p.encoder.Format().Encoding.String(),
	}
	p.attempt.served(p.metrics)
	response.Headers(h, p.info)
	for _, warning := range p.warnings() {
		h.Add("Warning", warning)
	}
	h.Set("Content-Type", p.encoder.ContentType(p.verb == negotiate.Watch))
}

// staleAfter is how long the watch of a store may be disconnected before responses warn of it.
const staleAfter = 30 * time.Second

// warnings returns the values of the Warning header: those that the apiserver adds to reads of the
// resource, and one of Sluice if the apiserver has not been reachable for staleAfter. Reads that
// accept any version are still served then.
func (p *plan) warnings() []string {
	upstream := p.resource.Warnings
	disconnected := p.resource.DisconnectedFor()
	if disconnected < staleAfter {
		return upstream
	}
	text := fmt.Sprintf("the apiserver has not been reachable for %v; this state may be as old", disconnected.Truncate(time.Second))
	return append(slices.Clone(upstream), fmt.Sprintf("299 - %q", text))
}
