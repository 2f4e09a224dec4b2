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
	if c, _ := o.Resources.Look(p.Read.GroupVersionResource); c != nil && !c.Resource.Namespaced && !p.Read.OfNamespaces() {
		return outcome.NotAllowed // which costs no reviews of namespaces
	}
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

// shows reports whether a read of some namespaces shows a key.
func shows(read *request.Read, k tree.Key) bool {
	namespace := k.Namespace()
	if read.OfNamespaces() {
		namespace = k.Name()
	}
	_, found := slices.BinarySearch(read.Namespaces, namespace)
	return found
}

// ranges returns the ranges of keys that a read of some namespaces shows, in the order of keys, which is not the order of the
// names of namespaces. A watch does not keep them: the ranges of 1,000 namespaces take 70 KB.
func ranges(read *request.Read) (all []tree.Range) {
	for _, ns := range read.Namespaces {
		if read.OfNamespaces() {
			all = append(all, tree.Single(tree.KeyOf("", ns)))
		} else {
			all = append(all, tree.Namespace(ns))
		}
	}
	slices.SortFunc(all, func(a, b tree.Range) int { return cmp.Compare(a.From, b.From) })
	return all
}
