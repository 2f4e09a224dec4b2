package fresh

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"sluice/codec/negotiate"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// Head is the beginning of a response from the cache. Without an Attempt it sets nothing.
type Head struct {
	Attempt *Attempt
	Plan    *plan.Plan
	Reason  outcome.Hit
	Version uint64 // of the state that the response shows, or from which a watch starts
	Pending bool   // the state is yet to be proven
}

// Set sets the headers of the response, and its outcome. The caller must know that the body can be encoded: after it, the
// request cannot pass any more.
func (h Head) Set(header http.Header) {
	p := h.Plan
	if h.Attempt == nil {
		return
	}
	p.Info.Outcome = request.Outcome{
		Source: request.SourceCache, Reason: string(h.Reason), Format: p.Format.Format().Encoding.String(),
		AsOf: request.AsOf{Version: h.Version, Known: h.Attempt.Known, Proof: string(h.Reason)},
	}
	if h.Pending {
		p.Info.Outcome.AsOf.Proof = request.ProofPending
	}
	response.Headers(header, &p.Info.Parsed)
	for _, warning := range h.warnings() {
		header.Add("Warning", warning)
	}
	if f := p.Format.Format(); f.Partial() {
		header.Add("Warning", fmt.Sprintf("299 - %q", "objects are partial: "+string(f.Projection)))
	}
	if p.Some() {
		header.Add("Warning", fmt.Sprintf("299 - %q", message.SomeNamespaces.Say()))
	}
	header.Set("Content-Type", p.Format.ContentType(p.Verb == negotiate.Watch))
}

// staleAfter is how long the watch of a store may be disconnected before responses warn of it.
const staleAfter = 30 * time.Second

// warnings returns the values of the Warning header: the ones that the apiserver adds to reads of the resource, and one of Sluice
// while the apiserver is away, or has had no watch for staleAfter. Reads that accept any version are still served then.
func (h Head) warnings() []string {
	c := h.Plan.Resource
	if !h.Attempt.Away && c.DisconnectedFor() < staleAfter {
		return c.Warnings
	}
	age := time.Since(c.LastProven()).Truncate(time.Second)
	return append(slices.Clone(c.Warnings), fmt.Sprintf("299 - %q", fmt.Sprintf("the apiserver does not answer; this state was the newest %v ago", age)))
}
