package main

import (
	"context"
	"net/http"
	"slices"
)

// latencyCase is a request that is made again and again, to see how long it takes a single client.
type latencyCase struct {
	kind     string
	verb     string // of Sluice's metrics
	header   http.Header
	path     func(*bed) string
	before   func(*bed, context.Context) error // done before each request, nil for nothing
	requests int
	churn    int // updates per second meanwhile
}

// latencyCases are all that were asked for: lists of the most recent state, which Sluice has to prove
// that it has, and gets of it, which it passes. The lists are of a kind that costs little to write. Before
// each, something else is changed: as in a cluster that is used, the present moves on without the pods.
func latencyCases(o *options) []latencyCase {
	var all []latencyCase
	for _, churn := range o.churns {
		all = append(all, latencyCase{
			kind: "fence", verb: "list", requests: o.fences, churn: churn,
			header: http.Header{"Accept": {protobufType}, "Accept-Encoding": {"gzip"}},
			path:   func(*bed) string { return "/api/v1/pods" },
			before: (*bed).updateOther,
		}, latencyCase{
			kind: "get", verb: "get", requests: o.gets, churn: churn,
			header: http.Header{"Accept": {jsonType}},
			path:   func(b *bed) string { return b.names[0] },
		})
	}
	return slices.DeleteFunc(all, func(c latencyCase) bool { return !o.only.matches(c.name()) })
}

func (c latencyCase) name() string { return withChurn(c.kind, c.churn) }
