package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// kindsLimit is how long it may take until all informers have synced, and until all of them are served.
const kindsLimit = 5 * time.Minute

// controllers measures one controller that watches every kind, at the apiserver and at a new Sluice.
func (w *world) controllers(ctx context.Context, r *report) {
	direct, cached := w.only.MatchString("kinds "+apiserverName), w.only.MatchString("kinds "+sluiceName)
	if !direct && !cached {
		return
	}
	token := w.defineKinds(ctx)
	if direct {
		r.add(w.controllerAt(ctx, w.direct(harness.Anonymous), token))
	}
	if cached {
		w.withSluice(sluiceName, harness.Anonymous, harness.SluiceOptions{}, func(t *target) { r.add(w.controllerAt(ctx, t, token)) })
	}
}

// controllerAt starts the controller, waits until it knows all objects, and at a Sluice also until all its watches are served
// from the cache.
func (w *world) controllerAt(ctx context.Context, t *target, token string) *row {
	progress("a controller of %d kinds at the %s", w.kinds, t.name)
	r := newRow(kindsTable, t.name)
	r.Target, r.Objects = t.name, w.kinds
	config := rest.CopyConfig(t.config)
	config.BearerToken, config.QPS = token, -1
	factory := dynamicinformer.NewDynamicSharedInformerFactory(must(dynamic.NewForConfig(config)), 0)
	for i := range w.kinds {
		_ = factory.ForResource(kindAt(i)).Informer() // makes it part of the factory
	}
	m := newMeter(0, w.apiserver)
	ctx, stop := context.WithCancel(ctx)
	defer factory.Shutdown()
	defer stop()
	factory.Start(ctx.Done())
	limit, cancel := context.WithTimeout(ctx, kindsLimit)
	defer cancel()
	synced := &figures{}
	for _, ok := range factory.WaitForCacheSync(limit.Done()) {
		if ok {
			synced.Watches++
		}
	}
	synced.Seconds, synced.Upstream = time.Since(m.began).Seconds(), m.read().cpu[apiserverName].Seconds()
	r.By[joining] = synced
	if t.sluice != nil {
		r.By[serving] = w.served(ctx, t)
	}
	return r
}

// served waits until all watches are served from the cache.
func (w *world) served(ctx context.Context, t *target) *figures {
	start, f := time.Now(), &figures{}
	poll(ctx, time.Second, kindsLimit, func() bool {
		m := must(t.sluice.Metrics())
		f.Requests, f.Watches = int(m.Sum("sluice_watchers", "version="+kindsVersion)), int(m.Sum("sluice_store_connected"))
		f.Counts = tallyOf(m, "sluice_passed_watchers", "reason").since(nil) // without zeros
		return f.Requests >= w.kinds && len(f.Counts) == 0
	})
	f.Seconds, f.RSS = time.Since(start).Seconds(), t.proc.resident()
	return f
}

const (
	// kindsVersion is the API version of the kinds, which no other resource has.
	kindsVersion = "v1kinds"
	// kindsOfGroup is how many kinds an API group has.
	kindsOfGroup = 50
	// definers create kinds at the same time. The apiserver serves each some seconds after it was created.
	definers = 50
	// quietCPU is the share of a core below which the apiserver has taken note of the kinds.
	quietCPU, quietEvery, quietLimit = 0.2, 2 * time.Second, 3 * time.Minute
)

// kindAt returns one of the kinds.
func kindAt(i int) schema.GroupVersionResource {
	return schema.GroupVersionResource{
		Group: fmt.Sprintf("group%d.bench.sluice.dev", i/kindsOfGroup), Version: kindsVersion,
		Resource: fmt.Sprintf("kind%ds", i%kindsOfGroup),
	}
}

// define creates a kind.
func define(ctx context.Context, c *harness.ControlPlane, of schema.GroupVersionResource, kind, scope string) {
	check(c.Create(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]s.%[2]s"},`+
			`"spec":{"group":%[2]q,"scope":%[5]q,"names":{"plural":%[1]q,"singular":%[6]q,"kind":%[4]q,"listKind":"%[4]sList"},`+
			`"versions":[{"name":%[3]q,"served":true,"storage":true,`+
			`"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`,
		of.Resource, of.Group, of.Version, kind, scope, strings.ToLower(kind))))
}

// defineKinds creates the kinds with an object of each, and returns the token of a service account that may read all.
func (w *world) defineKinds(ctx context.Context) string {
	tokens := w.accounts(ctx, "bench-kinds", 1, harness.MayRead("*", "*"))
	progress("creating %d kinds", w.kinds)
	g, making := newGroup(ctx, definers)
	for i := range w.kinds {
		g.run(func() {
			gvr, kind := kindAt(i), fmt.Sprintf("Kind%d", i%kindsOfGroup)
			define(making, w.plane, gvr, kind, "Cluster")
			path := "/apis/" + gvr.Group + "/" + gvr.Version + "/" + gvr.Resource
			object := fmt.Sprintf(`{"apiVersion":"%s/%s","kind":%q,"metadata":{"name":"only"}}`, gvr.Group, gvr.Version, kind)
			check(w.plane.Create(making, path, object))
		})
	}
	g.wait()
	// New kinds make the apiserver work for a while.
	poll(ctx, 0, quietLimit, func() bool { return measureIdle(ctx, quietEvery, w.apiserver)[apiserverName].Share < quietCPU })
	return tokens[0]
}
