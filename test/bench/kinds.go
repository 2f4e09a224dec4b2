package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

const (
	// kindsLimit is how long it may take until all informers have synced, and until all of them are served.
	kindsLimit = 5 * time.Minute
	// kindsWindow is how long the CPU of the servers is measured while nothing happens.
	kindsWindow = 30 * time.Second
)

// controllers measures one controller that watches every kind, at the apiserver and at a new Sluice.
func (w *world) controllers(ctx context.Context, r *report) {
	direct, cached := w.only.matches("kinds "+apiserverName), w.only.matches("kinds "+sluiceName)
	if !direct && !cached {
		return
	}
	token := w.defineKinds(ctx)
	if direct {
		w.controllerAt(ctx, r, w.direct(harness.Anonymous), token)
	}
	if cached {
		w.withSluice(harness.SluiceOptions{}, func(t *target) { w.controllerAt(ctx, r, t, token) })
	}
}

// controller is a factory of client-go with an informer for each kind.
type controller struct {
	dynamicinformer.DynamicSharedInformerFactory
	informers []informers.GenericInformer
	stop      context.CancelFunc
}

// startController starts the informers. They are as fast as the server lets them be.
func (w *world) startController(ctx context.Context, t *target, token string) *controller {
	config := rest.CopyConfig(t.config)
	config.BearerToken, config.QPS = token, -1
	client := must(dynamic.NewForConfig(config))
	c := &controller{DynamicSharedInformerFactory: dynamicinformer.NewDynamicSharedInformerFactory(client, 0)}
	for i := range w.kinds {
		informer := c.ForResource(kindAt(i))
		_ = informer.Informer() // makes it part of the factory
		c.informers = append(c.informers, informer)
	}
	ctx, c.stop = context.WithCancel(ctx)
	c.Start(ctx.Done())
	return c
}

func (c *controller) end() {
	c.stop()
	c.Shutdown()
}

// synced returns how many informers have synced.
func (c *controller) synced() (n int) {
	for _, i := range c.informers {
		if i.Informer().HasSynced() {
			n++
		}
	}
	return n
}

// idleWith measures what the target, and the apiserver, need at a moment while nothing happens.
func (w *world) idleWith(ctx context.Context, r *row, moment string, t *target) {
	targets := []*target{w.apiserver}
	if t.sluice != nil {
		targets = append(targets, t)
	}
	for name, f := range measureIdle(ctx, kindsWindow, targets...) {
		r.By[at(moment, name)] = f
	}
}

// controllerAt starts the controller, waits until it knows all objects, and measures what its watches cost, at a Sluice
// also after a restart and without the controller.
func (w *world) controllerAt(ctx context.Context, rep *report, t *target, token string) {
	progress("a controller of %d kinds at the %s", w.kinds, t.name)
	r := newRow(kindsTable, t.name)
	r.Target, r.Objects = t.name, w.kinds
	rep.add(r)
	w.idleWith(ctx, r, quietly, w.apiserver)
	m := newMeter(0, w.apiserver, &target{name: "server", proc: t.proc})
	c := w.startController(ctx, t, token)
	defer c.end()
	poll(ctx, 50*time.Millisecond, kindsLimit, func() bool { return c.synced() >= w.kinds })
	f := &figures{Seconds: time.Since(m.began).Seconds(), Watches: c.synced()}
	used := m.read()
	f.Upstream, f.Peak = used.cpu[apiserverName].Seconds(), used.peak["server"]
	r.By[joining] = f
	if t.sluice == nil {
		w.idleWith(ctx, r, attacked, t)
		return
	}
	r.By[serving] = w.served(ctx, t.sluice)
	w.idleWith(ctx, r, attacked, t)
	t.restart()
	r.By[returning] = w.served(ctx, t.sluice)
	c.end()
	w.idleWith(ctx, r, afterwards, t)
}

// served waits until all watches are served from the cache.
func (w *world) served(ctx context.Context, s *harness.Sluice) *figures {
	start, f, last := time.Now(), &figures{}, ""
	poll(ctx, time.Second, kindsLimit, func() bool {
		m := must(s.Metrics())
		f.Seconds, f.Requests, f.Counts = time.Since(start).Seconds(), 0, tally{}
		for _, sample := range m.Samples("sluice_watchers") {
			if sample.Labels["version"] == kindsVersion {
				f.Requests += int(sample.Value)
			}
		}
		for _, sample := range m.Samples("sluice_passed_watchers") {
			if sample.Value > 0 {
				f.Counts[cmp.Or(sample.Labels["reason"], "unknown")] += sample.Value
			}
		}
		f.Bytes, f.Limit = m.Sum("sluice_stores_bytes"), int64(m.Sum("sluice_stores_limit_bytes"))
		f.Watches = int(m.Sum("sluice_store_connected"))
		if now := fmt.Sprintf("%d served, passed: %s", f.Requests, f.Counts.reasons()); now != last {
			progress("%.1f s: %s", f.Seconds, now)
			last = now
		}
		return f.Requests >= w.kinds && len(f.Counts) == 0
	})
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
	post(ctx, c, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Appendf(nil,
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]s.%[2]s"},`+
			`"spec":{"group":%[2]q,"scope":%[5]q,"names":{"plural":%[1]q,"singular":%[6]q,"kind":%[4]q,"listKind":"%[4]sList"},`+
			`"versions":[{"name":%[3]q,"served":true,"storage":true,`+
			`"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`,
		of.Resource, of.Group, of.Version, kind, scope, strings.ToLower(kind)), false)
}

// post creates an object, unless it is there; with retry until the apiserver serves the kind.
func post(ctx context.Context, c *harness.ControlPlane, path string, body []byte, retry bool) {
	q := harness.Request{Method: http.MethodPost, Path: path, Header: http.Header{"Content-Type": {jsonType}}, Body: body}
	for {
		got := must(c.Raw(user).Do(ctx, q))
		switch {
		case got.Status == http.StatusCreated || got.Status == http.StatusConflict:
			return
		case !retry:
			check(fmt.Errorf("create in %s: %d: %.200s", path, got.Status, got.Body))
		}
		sleep(ctx, settle)
	}
}

// defineKinds creates the kinds with an object of each, and returns the token of a service account that may read all.
func (w *world) defineKinds(ctx context.Context) string {
	read := rbacv1.PolicyRule{Verbs: []string{"list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	tokens := w.accounts(ctx, "bench-kinds", 1, read)
	progress("creating %d kinds", w.kinds)
	g, making := newGroup(ctx, definers)
	for i := range w.kinds {
		g.run(func() {
			gvr, kind := kindAt(i), fmt.Sprintf("Kind%d", i%kindsOfGroup)
			define(making, w.plane, gvr, kind, "Cluster")
			object := fmt.Appendf(nil, `{"apiVersion":"%s/%s","kind":%q,"metadata":{"name":"only"}}`, gvr.Group, gvr.Version, kind)
			path := "/apis/" + gvr.Group + "/" + gvr.Version + "/" + gvr.Resource
			post(making, w.plane, path, object, true)
		})
	}
	g.wait()
	// New kinds make the apiserver work for a while.
	poll(ctx, 0, quietLimit, func() bool { return measureIdle(ctx, quietEvery, w.apiserver)[apiserverName].Share < quietCPU })
	return tokens[0]
}
