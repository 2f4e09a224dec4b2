package main

import (
	"fmt"
	"net/http"
	"slices"
)

// listCase is a list of the pods of all namespaces at any version (resourceVersion=0), or a
// streaming list (sendInitialEvents=true).
type listCase struct {
	format
	encoding  string
	clients   int // concurrent, each with its own connection
	churn     int // updates per second during the case
	streaming bool
}

// listCases returns the cases that the options select, costly ones last because they leave the
// apiserver with a large heap.
func listCases(o *options) []listCase {
	var all []listCase
	for _, name := range o.formats {
		for _, encoding := range o.encodes {
			for _, n := range o.clients {
				for _, churn := range o.churns {
					all = append(all, listCase{formatOf(name), encoding, n, churn, false})
				}
			}
		}
	}
	for _, name := range o.streams {
		for _, encoding := range o.encodes {
			for _, n := range o.clients {
				all = append(all, listCase{formatOf(name), encoding, n, 0, true})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y listCase) int { return rank(x) - rank(y) })
	return slices.DeleteFunc(all, func(c listCase) bool { return !o.only.matches(c.name()) })
}

func rank(c listCase) int {
	if c.costly {
		return 1
	}
	return 0
}

func (c listCase) name() string {
	kind := "list"
	if c.streaming {
		kind = "stream"
	}
	return withChurn(fmt.Sprintf("%s %s %s x%d", kind, c.format.name, c.encoding, c.clients), c.churn)
}

// withChurn adds the rate of updates to the name of a case.
func withChurn(name string, churn int) string {
	if churn == 0 {
		return name
	}
	return fmt.Sprintf("%s +%d/s", name, churn)
}

// streamingQuery is the query of a consistent streaming list.
const streamingQuery = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" +
	"&allowWatchBookmarks=true&timeoutSeconds=3600"

// verb is the request's verb in Sluice's metrics.
func (c listCase) verb() string {
	if c.streaming {
		return "WATCH"
	}
	return "LIST"
}

func (c listCase) header() http.Header {
	h := http.Header{"Accept": {c.accept}}
	if c.streaming {
		h.Set("Accept", c.watch)
	}
	switch c.encoding {
	case identity:
	case "zstd":
		h.Set("Accept-Encoding", "zstd, gzip") // as clients with zstd do, for servers without it
	default:
		h.Set("Accept-Encoding", c.encoding)
	}
	return h
}

// path returns the path of the request to a target.
func (c listCase) path(t *target) string {
	switch {
	case t.name == floorName:
		return floorBodyPath
	case c.streaming:
		return "/api/v1/pods?" + streamingQuery
	}
	return "/api/v1/pods?resourceVersion=0"
}
