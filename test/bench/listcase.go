package main

import (
	"fmt"
	"net/http"
	"slices"
)

// format is what a client asks for.
type format struct {
	name   string
	accept string
	// watch counts the frames of a watch stream; nil where there are no watches.
	watch func() counter
}

// formats that can be asked for, with --formats.
var formats = []format{
	{"json", "application/json", newLines},
	{"protobuf", "application/vnd.kubernetes.protobuf", newFrames},
	{"cbor", "application/cbor", nil},
	{"yaml", "application/yaml", nil},
	{"table", "application/json;as=Table;g=meta.k8s.io;v=v1", newLines},
	{"metadata", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", nil},
	{"metadata-protobuf", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", nil},
}

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// format finds a format by its name, which has been validated.
func formatOf(name string) format {
	for _, f := range formats {
		if f.name == name {
			return f
		}
	}
	panic("bench: no format " + name)
}

// listCase is one kind of list: pods of all namespaces, of any version.
type listCase struct {
	format
	encoding string
	clients  int // at a time, each on a connection of its own
	churn    int // updates per second meanwhile
}

// listCases are all that were asked for.
func listCases(o *options) []listCase {
	var all []listCase
	for _, name := range o.formats {
		for _, encoding := range o.encodes {
			for _, n := range o.clients {
				for _, churn := range o.churns {
					all = append(all, listCase{formatOf(name), encoding, n, churn})
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(c listCase) bool { return !o.only.matches(c.name()) })
}

func (c listCase) name() string {
	name := fmt.Sprintf("list %s %s x%d", c.format.name, c.encoding, c.clients)
	if c.churn > 0 {
		name += fmt.Sprintf(" +%d/s", c.churn)
	}
	return name
}

func (c listCase) header() http.Header {
	h := http.Header{"Accept": {c.accept}}
	if c.encoding != "identity" {
		h.Set("Accept-Encoding", c.encoding)
	}
	return h
}

// path of the request to a target; the floor keeps one body for each format and encoding.
func (c listCase) path(t *target) string {
	if t.name == floorName {
		return "/" + c.format.name + "/" + c.encoding
	}
	return "/api/v1/pods?resourceVersion=0"
}
