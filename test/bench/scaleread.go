package main

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// absent is a selector that matches nothing.
const absent = "labelSelector=app%3Dabsent"

// scaleWindow is the longest time of a case at a target, except that of its first read.
const scaleWindow = 8 * time.Second

// readScenarios returns the reads of a large cluster, by one client, that the options select. Without an update before
// each, a consistent read is one of KEP-2340.
func readScenarios(o *options) []*scenario {
	json, proto, tables := accepting(jsonType, identity), accepting(protobufType, identity), accepting(jsonType+tableOf, identity)
	space := "/api/v1/namespaces/" + namespaceName(0) + "/pods"
	app := "&labelSelector=" + url.QueryEscape("app.kubernetes.io/name=checkout-07")
	pods, cached, maps := "/api/v1/pods?", "/api/v1/pods?resourceVersion=0", "/api/v1/configmaps?"
	var all []*scenario
	for _, c := range []listing{
		{name: "pods: all, JSON gzip", path: cached, header: accepting(jsonType, "gzip"), most: 2},
		{name: "pods: all, Protobuf", path: cached, header: proto, most: 2},
		{name: "pods: second page of 500, Table", path: pods + "limit=500", second: true, header: tables, most: 20},
		{name: "pods: namespace, JSON", path: space + "?resourceVersion=0", header: json, most: 100},
		{name: "pods: app, JSON", path: cached + app, header: json, most: 100},
		{name: "pods: app, Table", path: cached + app, header: tables, most: 100},
		{name: "pods: node, JSON", path: cached + "&fieldSelector=spec.nodeName%3Dnode-007", header: json, most: 100},
		{name: "pods: no label matches", path: cached + "&" + absent, header: json, most: 200},
		{name: "pods: namespace, consistent", path: space, header: json, most: o.repeats, after: true},
		{name: "configmaps: all, Protobuf", path: maps + "resourceVersion=0", header: proto, most: 2},
		{name: "configmaps: no label matches", path: maps + "resourceVersion=0&" + absent, header: json, most: 200},
		{name: "configmaps: no label matches, consistent, nothing written", path: maps + absent, header: json, most: 10 * o.repeats},
		{name: "configmaps: no label matches, consistent", path: maps + absent, header: json, most: 10 * o.repeats, after: true},
	} {
		c.clients, c.rounds, c.window = 1, 1, scaleWindow
		all = append(all, c.scenario())
	}
	return o.selected(all)
}

// concurrentLists is how many lists run at once in the section "lists", as in the load test of Kubernetes.
const concurrentLists = 10

// scaleOfLists measures concurrent lists of large ConfigMaps in every format that whole objects have. The apiserver would
// need tens of gigabytes, or minutes, for two of them.
func scaleOfLists(ctx context.Context, w *world, r *report) {
	var all []*scenario
	for _, name := range []string{"json", "protobuf", "cbor", "yaml"} {
		all = append(all, listing{
			name: fmt.Sprintf("%s x%d", name, concurrentLists), path: w.pods.path + "?resourceVersion=0",
			header: accepting(formatOf(name).accept, identity), clients: concurrentLists, rounds: w.rounds, most: 1,
			sluiceOnly: name == "cbor" || name == "yaml",
		}.scenario())
	}
	w.runAll(ctx, r, w.selected(all))
}
