package main

import (
	"fmt"
	"net/http"
	"slices"
)

// listCase is one kind of list of the pods of all namespaces: a list of any version, or a streaming
// list, which is a watch that begins with all there is, as informers do.
type listCase struct {
	format
	encoding  string
	clients   int // at a time, each on a connection of its own
	churn     int // updates per second meanwhile
	streaming bool
}

// listCases are all that were asked for, costly ones last: they leave the apiserver with much memory.
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

// withChurn is the name of a case during which updates go on.
func withChurn(name string, churn int) string {
	if churn == 0 {
		return name
	}
	return fmt.Sprintf("%s +%d/s", name, churn)
}

// verb is what Sluice's metrics call the request.
func (c listCase) verb() string {
	if c.streaming {
		return "watch"
	}
	return "list"
}

func (c listCase) header() http.Header {
	h := http.Header{"Accept": {c.accept}}
	if c.streaming {
		h.Set("Accept", c.watch)
	}
	switch c.encoding {
	case identity:
	case "zstd":
		h.Set("Accept-Encoding", "zstd, gzip") // as clients do that have it, for servers that have not
	default:
		h.Set("Accept-Encoding", c.encoding)
	}
	return h
}

// path of the request to a target.
func (c listCase) path(t *target) string {
	switch {
	case t.name == floorName:
		return floorBodyPath
	case c.streaming:
		return "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true" +
			"&timeoutSeconds=3600"
	}
	return "/api/v1/pods?resourceVersion=0"
}
