package plan

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec"
	"sluice/codec/negotiate"
	"sluice/codec/projection"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/outcome"
)

// Policy has callers that do not ask for a projection receive one, unless they may write the objects.
type Policy struct {
	Resource   schema.GroupResource
	Caller     func(user string, groups []string, agent string) bool
	Projection projection.Projection
	Quiet      bool // watches omit modifications that leave the projection as it was
}

// The values of the label "shows" of the metric.
const (
	policyApplied    = "projected"
	policyMayWrite   = "may-write"  // whole objects, since the caller may write them
	policyImpossible = "impossible" // whole objects, since the kind has no such fields, or the format has no projections
)

// applyPolicy replaces the format by the projection of the first policy for the resource and the caller. Who may write the
// objects is shown them whole: an update would clear the other fields.
func (p *Plan) applyPolicy(r *http.Request, o *Options) error {
	f := p.Format.Format()
	policy := o.policyOf(r, p)
	if policy == nil || o.Strict || f.Shape != codec.Object || f.Partial() {
		return nil
	}
	shows := func(what string) {
		o.Projected.WithLabelValues(policy.Resource.Group, policy.Resource.Resource, what).Inc()
	}
	f.Projection, f.Quiet = policy.Projection, policy.Quiet && p.Verb == negotiate.Watch
	format, err := encode.FormatFor(p.Resource, f)
	if err != nil || p.Verb == negotiate.List && format.Sorted() {
		shows(policyImpossible)
		return nil
	}
	switch mayWrite, err := o.Access.MayWrite(r, p.Read); {
	case err != nil && p.Some():
		return unreviewed()
	case err != nil:
		return outcome.NotReviewed
	case mayWrite:
		shows(policyMayWrite)
		p.written = true
		return nil
	}
	shows(policyApplied)
	read := *p.Read
	read.Unwritten = true
	p.Format, p.Read = format, &read
	return nil
}

// policyOf returns the first policy for a read; nil if there is none.
func (o *Options) policyOf(r *http.Request, p *Plan) *Policy {
	u := p.Info.Acting
	if p.Info.Impersonated != nil {
		u = p.Info.Impersonated
	}
	for i := range o.Policies {
		policy := &o.Policies[i]
		if u != nil && policy.Resource == p.Read.GroupResource() && policy.Caller(u.GetName(), u.GetGroups(), r.UserAgent()) {
			return policy
		}
	}
	return nil
}
