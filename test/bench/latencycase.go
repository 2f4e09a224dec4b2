package main

import (
	"context"
	"net/http"
	"slices"
)

// latencyCase is a request that a single client repeats, to measure its latency.
type latencyCase struct {
	kind     string
	verb     string // in Sluice's metrics
	header   http.Header
	path     func(*env) string
	before   func(*env, context.Context) error // runs before each request; nil means nothing
	requests int
	churn    int // updates per second during the case
}

// latencyCases returns the cases that the options select: consistent lists, for which Sluice proves
// that its state is current, and gets of the most recent version, which it passes. An update of
// another resource precedes each list because in a cluster the current resource version rises
// without the pods.
func latencyCases(o *options) []latencyCase {
	var all []latencyCase
	for _, churn := range o.churns {
		all = append(all, latencyCase{
			kind: "consistent list", verb: "LIST", requests: o.lists, churn: churn,
			header: http.Header{"Accept": {protobufType}, "Accept-Encoding": {"gzip"}},
			path:   func(*env) string { return "/api/v1/pods" },
			before: (*env).updateOther,
		}, latencyCase{
			kind: "get", verb: "GET", requests: o.gets, churn: churn,
			header: http.Header{"Accept": {jsonType}},
			path:   func(e *env) string { return e.names[0] },
		})
	}
	return slices.DeleteFunc(all, func(c latencyCase) bool { return !o.only.matches(c.name()) })
}

func (c latencyCase) name() string { return withChurn(c.kind, c.churn) }
