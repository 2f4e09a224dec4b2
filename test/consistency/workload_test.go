package consistency

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"sluice/test/consistency/history"
	"sluice/test/harness"
)

// load describes the clients of one resource.
type load struct {
	resource
	static   int // objects that never change, in their own namespace
	writers  int
	objects  int           // of each writer in each namespace
	writing  time.Duration // maximum between writes
	readers  int
	reading  time.Duration // maximum between reads
	reads    []string      // names of the kinds of reads; nil for all
	page     int           // average limit of pages
	watchers int
}

// namespacesOf returns the namespaces of the writers. The second sorts before the first in the
// order of keys, "name-b/" before "name/", although not in the order of names.
func namespacesOf(name string) []string { return []string{name, name + "-b"} }

func staticNamespace(name string) string { return name + "-still" }

// workload has the clients of one resource, their records, and the violations in the records.
type workload struct {
	load
	groundTruth *groundTruth
	recorder    *recorder
	writers     []*writer
	readers     []*reader
	watchers    []*watcher
	violations  []history.Violation
}

// newWorkload creates the clients of a load. Readers and watchers send requests to the server of config.
func (e *execution) newWorkload(t *testing.T, l load, config *rest.Config) *workload {
	t.Helper()
	namespaces := namespacesOf(e.name)
	apiserver := func() *server { return newServer(t, "apiserver", controlPlane.RESTConfig("admin")) }
	wl := &workload{load: l, groundTruth: &groundTruth{resource: l.resource, server: apiserver(), namespaces: namespaces}, recorder: newRecorder(&e.clock)}
	newClient := func(name string, config *rest.Config) client {
		return client{l.resource, name, newServer(t, sluiceName, config), wl.recorder, random(e.seed, l.plural+name)}
	}
	numbered := func(name string, n int) client {
		c := newClient(fmt.Sprint(name, n), config)
		if n%3 == 1 {
			c.server.projected(l.resource)
		}
		return c
	}
	var names []string
	for n := range l.writers {
		name := fmt.Sprint("writer", n)
		w := &writer{
			resource: l.resource, name: name, raw: apiserver().raw, rec: wl.recorder, rnd: random(e.seed, l.plural+name),
			namespaces: namespaces, objects: l.objects, pause: l.writing,
		}
		wl.writers = append(wl.writers, w)
		names = append(names, w.names()...)
	}
	for n := range l.readers {
		wl.readers = append(wl.readers, &reader{
			client: numbered("reader", n), apiserver: apiserver(), namespaces: append(namespaces, staticNamespace(e.name)),
			names: names, page: l.page, pause: l.reading, kinds: kindsOf(l.reads),
		})
	}
	for n := range l.watchers {
		scope := l.watcherScope(n, namespaces[0], names[n%len(names)])
		wl.watchers = append(wl.watchers, &watcher{client: numbered("watcher", n), scope: scope})
	}
	if *direct { // the apiserver shows a tenant nothing
		return wl
	}
	// The tenant may read some of the namespaces only, and asks for those.
	const user = "nobody"
	may := []string{namespaces[0], staticNamespace(e.name)}
	for _, ns := range may {
		controlPlane.Grant(t, ns, harness.User(user), harness.MayRead(l.group, l.plural))
	}
	tenant := func(name string) client {
		of := rest.CopyConfig(config)
		of.BearerToken = controlPlane.RESTConfig(user).BearerToken
		c := newClient(name, of)
		c.server.header.Set("Sluice-Namespaces", "allowed")
		return c
	}
	some := strings.Join(may, ",")
	like := *wl.readers[0]
	like.client, like.namespaces, like.some = tenant("tenant"), may, some
	wl.readers = append(wl.readers, &like)
	for n, s := range []history.Scope{{Namespaces: some}, {Namespaces: some, Labels: "color=red"}} {
		wl.watchers = append(wl.watchers, &watcher{client: tenant(fmt.Sprint("tenant's watcher", n)), scope: s})
	}
	return wl
}

// watcherScope returns the scope of watcher n: every kind of scope in turn.
func (l load) watcherScope(n int, namespace, name string) history.Scope {
	scopes := []history.Scope{
		{}, {Namespace: namespace}, {Labels: "color=red"}, {Namespace: namespace, Fields: "metadata.name=" + name},
		{Labels: "color notin (red,blue)", Namespace: namespace}, {Fields: "metadata.name=" + name},
	}
	if l.custom() {
		scopes = append(scopes, history.Scope{Fields: "spec.color=blue"})
	}
	return scopes[n%len(scopes)]
}

// staticPadding is the size of static objects in bytes, so that a list of them from the apiserver
// is expensive.
const staticPadding = 1500

// populateConcurrency is the number of objects that are created at the same time.
const populateConcurrency = 16

// populate creates the static objects.
func (wl *workload) populate(t *testing.T, prefix string) {
	t.Helper()
	create(t, wl.static, wl.path(staticNamespace(prefix), ""), func(n int) string {
		return wl.body(fmt.Sprintf("still-%04d", n), colors[n%len(colors)], strings.Repeat("x", staticPadding))
	})
}

// create creates n objects at a path.
func create(t *testing.T, n int, path string, object func(n int) string) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(populateConcurrency)
	for n := range n {
		g.Go(func() error {
			_, err := controlPlane.Raw("admin").Write(ctx, http.MethodPost, path, object(n))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// clear deletes what the writers left: lists of later scenarios would have to carry it.
func (wl *workload) clear(t *testing.T) {
	t.Helper()
	for _, namespace := range wl.writers[0].namespaces {
		controlPlane.Raw("admin").Must(t, http.MethodDelete, wl.path(namespace, ""), "")
	}
}

// createNamespaces creates the namespaces of a scenario. They live as long as the control plane.
func createNamespaces(t *testing.T, prefix string) {
	t.Helper()
	for _, name := range append(namespacesOf(prefix), staticNamespace(prefix)) {
		controlPlane.MustHave(t, "/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
	}
}

// writeLast creates one more object in each namespace and waits until the log has it, and therefore
// all acknowledged writes.
func (wl *workload) writeLast(t *testing.T) {
	t.Helper()
	last := wl.writers[0]
	for _, namespace := range last.namespaces {
		harness.Eventually(t, "last write", func() error {
			return last.send(t.Context(), namespace, "last", last.body("last", "red", "last"))
		})
	}
	wl.groundTruth.await(t, wl.recorder.newestVersion())
}
