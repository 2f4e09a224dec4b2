package consistency

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// workload is a load in execution: the clients of one resource and what they recorded.
type workload struct {
	load
	groundTruth *groundTruth
	recorder    *recorder
	writers     []*writer
	readers     []*reader
	watchers    []*watcher
}

// newWorkload creates the clients of a load. Readers and watchers send requests to the server of
// config, which has serverName in sources. Namespaces begin with prefix.
func (l load) newWorkload(t *testing.T, prefix string, seed uint64, clock *history.Clock, serverName string, config *rest.Config) *workload {
	t.Helper()
	namespaces := namespacesOf(prefix)
	admin := controlPlane.RESTConfig("admin")
	apiserver := func() *server { return newServer(t, "apiserver", admin) }
	wl := &workload{load: l, groundTruth: newGroundTruth(l.resource, apiserver(), namespaces), recorder: newRecorder(clock)}
	var names []string
	for n := range l.writers {
		w := &writer{
			resource: l.resource, name: fmt.Sprintf("writer%d", n), raw: apiserver().raw, rec: wl.recorder,
			rnd: random(seed, fmt.Sprint(l.plural, "writer", n)), namespaces: namespaces, objects: l.objects, pause: l.writing,
		}
		wl.writers = append(wl.writers, w)
		names = append(names, w.names()...)
	}
	for n := range l.readers {
		wl.readers = append(wl.readers, &reader{
			resource: l.resource, name: fmt.Sprintf("reader%d", n), sluice: newServer(t, serverName, config), apiserver: apiserver(), rec: wl.recorder,
			rnd: random(seed, fmt.Sprint(l.plural, "reader", n)), namespaces: append(namespaces, staticNamespace(prefix)), names: names,
			page: l.page, pause: l.reading, kinds: kindsOf(l.reads),
		})
	}
	for n := 1; n < l.readers; n += 3 {
		wl.readers[n].sluice.projected(l.resource)
	}
	for n := range l.watchers {
		w := &watcher{
			resource: l.resource, name: fmt.Sprintf("watcher%d", n), server: newServer(t, serverName, config), rec: wl.recorder,
			rnd: random(seed, fmt.Sprint(l.plural, "watcher", n)),
		}
		w.scope = l.watcherScope(n, namespaces[0], names[n%len(names)])
		wl.watchers = append(wl.watchers, w)
	}
	for n := 1; n < l.watchers; n += 3 {
		wl.watchers[n].server.projected(l.resource)
	}
	if !*direct { // the apiserver shows a tenant nothing
		wl.addTenants(t, prefix, seed, serverName, config)
	}
	return wl
}

// addTenants adds a reader and watchers of a user who may read some of the namespaces only, and asks for those.
func (wl *workload) addTenants(t *testing.T, prefix string, seed uint64, serverName string, config *rest.Config) {
	t.Helper()
	const user = "nobody"
	may := []string{namespacesOf(prefix)[0], staticNamespace(prefix)}
	for _, ns := range may {
		wl.letRead(t, ns, user)
	}
	tenant := rest.CopyConfig(config)
	tenant.BearerToken = controlPlane.RESTConfig(user).BearerToken
	server := func() *server {
		s := newServer(t, serverName, tenant)
		s.header.Set("Sluice-Namespaces", "allowed")
		return s
	}
	some := strings.Join(may, ",")
	like := *wl.readers[0]
	like.name, like.sluice, like.namespaces, like.some = "tenant", server(), may, some
	like.rnd = random(seed, wl.plural+"tenant")
	wl.readers = append(wl.readers, &like)
	for n, s := range []history.Scope{{Namespaces: some}, {Namespaces: some, Labels: "color=red"}} {
		name := fmt.Sprintf("tenant's watcher%d", n)
		wl.watchers = append(wl.watchers, &watcher{
			resource: wl.resource, name: name, server: server(), rec: wl.recorder, rnd: random(seed, wl.plural+name), scope: s,
		})
	}
}

// letRead gives a user the right to read the resource in a namespace until the test ends.
func (wl *workload) letRead(t *testing.T, namespace, user string) {
	t.Helper()
	rbac := controlPlane.Client("admin").RbacV1()
	meta := metav1.ObjectMeta{Name: "read-" + wl.plural}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{wl.group}, Resources: []string{wl.plural}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
	}
	if _, err := rbac.Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // other scenarios have other namespaces
		if err := rbac.RoleBindings(namespace).Delete(context.Background(), meta.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
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

// populateConcurrency is the number of objects that populate creates at the same time.
const populateConcurrency = 16

// populate creates the static objects.
func (wl *workload) populate(t *testing.T, prefix string) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(populateConcurrency)
	for n := range wl.static {
		g.Go(func() error {
			body := wl.padded(fmt.Sprintf("still-%04d", n), colors[n%len(colors)], staticPadding)
			return expect(ctx, controlPlane.Raw("admin"), jsonRequest(http.MethodPost, wl.path(staticNamespace(prefix), ""), body), http.StatusCreated)
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
		q := jsonRequest(http.MethodDelete, wl.path(namespace, ""), nil)
		if err := expect(t.Context(), controlPlane.Raw("admin"), q, http.StatusOK); err != nil {
			t.Fatal(err)
		}
	}
}

// createNamespaces creates the namespaces of a scenario. They live as long as the control plane.
func createNamespaces(t *testing.T, prefix string) {
	t.Helper()
	for _, name := range append(namespacesOf(prefix), staticNamespace(prefix)) {
		q := jsonRequest(http.MethodPost, "/api/v1/namespaces", fmt.Appendf(nil, `{"metadata":{"name":%q}}`, name))
		if err := expect(t.Context(), controlPlane.Raw("admin"), q, http.StatusCreated); err != nil {
			t.Fatal(err)
		}
	}
}

// writeLast creates one more object in each namespace and waits until the log has it, and therefore
// all acknowledged writes.
func (wl *workload) writeLast(t *testing.T) {
	t.Helper()
	last := wl.writers[0]
	last.name = "last"
	last.objects = 1
	for _, namespace := range last.namespaces {
		harness.Eventually(t, "last write", func() error {
			body := last.body("last-0", "red", 0)
			return last.send(t.Context(), "create", namespace, "last-0", jsonRequest(http.MethodPost, last.path(namespace, ""), body))
		})
	}
	if err := wl.groundTruth.until(t.Context(), wl.recorder.newestVersion()); err != nil {
		t.Fatal(err)
	}
}
