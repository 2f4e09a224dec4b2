package plan

import (
	"cmp"
	"net/http"
	"slices"

	"sluice/cache/tree"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/outcome"
)

// badNamespaces reports whether a request has the header that asks for some namespaces, with a value that it cannot have.
func badNamespaces(r *http.Request) bool {
	return slices.ContainsFunc(r.Header[request.NamespacesHeader], func(v string) bool { return v != request.NamespacesAllowed })
}

// Some reports whether the read shows only some namespaces.
func (q *Query) Some() bool { return q.Read != nil && q.Read.Namespaces != nil }

// authorizeSome authorizes a read that its caller may not make, in the namespaces in which it may.
func (o *Options) authorizeSome(r *http.Request, p *Plan) error {
	some, err := o.Access.MayReadSome(r, p.Read)
	switch {
	case err != nil: // the apiserver would refuse it
		return unreviewed()
	case some == nil:
		return outcome.NotAllowed
	}
	p.Read = some
	return nil
}

func unreviewed() error {
	return &outcome.Refused{Reason: outcome.NotReviewed, Err: response.NewUnavailable(message.NotReviewed.Say())}
}

// visible returns the ranges of keys that a read shows, in their order; nil for all.
func visible(read *request.Read) []tree.Range {
	if read.Namespaces == nil {
		return nil
	}
	ranges := make([]tree.Range, 0, len(read.Namespaces))
	for _, ns := range read.Namespaces {
		if read.OfNamespaces() {
			ranges = append(ranges, tree.Single(tree.KeyOf("", ns)))
		} else {
			ranges = append(ranges, tree.Namespace(ns))
		}
	}
	slices.SortFunc(ranges, byFrom)
	return ranges
}

func byFrom(a, b tree.Range) int { return cmp.Compare(a.From, b.From) }

// contain reports whether one of the ranges, which are in order, contains a key.
func contain(ranges []tree.Range, k tree.Key) bool {
	i, exact := slices.BinarySearchFunc(ranges, tree.Range{From: k}, byFrom)
	return exact || i > 0 && ranges[i-1].Contains(k)
}
