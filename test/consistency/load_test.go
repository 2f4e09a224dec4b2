package consistency

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"sluice/test/consistency/history"
	"sluice/test/harness"
)

// load is what is done with one resource.
type load struct {
	resource
	still    int // objects that never change, in a namespace of their own
	writers  int
	objects  int           // how many each writer has in each namespace
	writing  time.Duration // between writes, at most
	readers  int
	reading  time.Duration // between reads, at most
	page     int           // about how many objects a page should hold
	watchers int
}

// A namespace that sorts before another though its name is longer: what counts
// is the whole key.
func namespacesOf(name string) []string { return []string{name, name + "-b"} }

func stillNamespace(name string) string { return name + "-still" }

// cast are those who act on one resource.
type cast struct {
	load
	truth    *truth
	recorder *recorder
	writers  []*writer
	readers  []*reader
	watchers []*watcher
}

// engage makes the cast of a load. Readers and watchers ask at the given
// configuration, as who is called name.
func (l load) engage(t *testing.T, trial string, seed uint64, clock *history.Clock, name string, config *rest.Config) *cast {
	t.Helper()
	namespaces := namespacesOf(trial)
	admin := plane.RESTConfig("admin")
	apiserver := func() *server { return newServer(t, "apiserver", admin) }
	c := &cast{load: l, truth: newTruth(l.resource, apiserver(), namespaces), recorder: newRecorder(clock)}
	var names []string
	for n := range l.writers {
		w := &writer{
			resource: l.resource, name: fmt.Sprintf("writer%d", n), raw: apiserver().raw, rec: c.recorder,
			rnd: random(seed, fmt.Sprint(l.plural, "writer", n)), namespaces: namespaces, objects: l.objects, pause: l.writing,
		}
		c.writers = append(c.writers, w)
		names = append(names, w.names()...)
	}
	for n := range l.readers {
		c.readers = append(c.readers, &reader{
			resource: l.resource, name: fmt.Sprintf("reader%d", n), sluice: newServer(t, name, config), apiserver: apiserver(), rec: c.recorder,
			rnd: random(seed, fmt.Sprint(l.plural, "reader", n)), namespaces: append(namespaces, stillNamespace(trial)), names: names,
			page: l.page, pause: l.reading,
		})
	}
	for n := range l.watchers {
		w := &watcher{
			resource: l.resource, name: fmt.Sprintf("watcher%d", n), server: newServer(t, name, config), rec: c.recorder,
			rnd: random(seed, fmt.Sprint(l.plural, "watcher", n)),
		}
		w.scope = l.watched(n, namespaces[0], names[n%len(names)])
		c.watchers = append(c.watchers, w)
	}
	return c
}

// watched is the scope of a watcher: of each form, one after the other.
func (l load) watched(n int, namespace, name string) history.Scope {
	scopes := []history.Scope{
		{}, {Namespace: namespace}, {Labels: "color=red"}, {Namespace: namespace, Fields: "metadata.name=" + name},
		{Labels: "color notin (red,blue)", Namespace: namespace}, {Fields: "metadata.name=" + name},
	}
	if l.custom() {
		scopes = append(scopes, history.Scope{Fields: "spec.color=blue"})
	}
	return scopes[n%len(scopes)]
}

// stillPadding makes the objects that never change so large that reading them
// from the apiserver is a burden.
const stillPadding = 1500

// loaders is how many objects are made at once.
const loaders = 16

// populate makes the objects that never change.
func (c *cast) populate(t *testing.T, trial string) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(loaders)
	for n := range c.still {
		g.Go(func() error {
			body := c.padded(fmt.Sprintf("still-%04d", n), colors[n%len(colors)], stillPadding)
			return expect(ctx, plane.Raw("admin"), jsonRequest(http.MethodPost, c.path(stillNamespace(trial), ""), body), http.StatusCreated)
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// makeNamespaces makes those of a trial. They go with the control plane.
func makeNamespaces(t *testing.T, trial string) {
	t.Helper()
	for _, name := range append(namespacesOf(trial), stillNamespace(trial)) {
		q := jsonRequest(http.MethodPost, "/api/v1/namespaces", fmt.Appendf(nil, `{"metadata":{"name":%q}}`, name))
		if err := expect(t.Context(), plane.Raw("admin"), q, http.StatusCreated); err != nil {
			t.Fatal(err)
		}
	}
}

// last makes one more object in each namespace, and waits until the log has it:
// then the log holds all that was acknowledged.
func (c *cast) last(t *testing.T) {
	t.Helper()
	w := c.writers[0]
	w.name = "last"
	w.objects = 1
	for _, namespace := range w.namespaces {
		harness.Eventually(t, "last write", func() error {
			body := w.body("last-0", "red", 0)
			return w.send(t.Context(), "create", namespace, "last-0", jsonRequest(http.MethodPost, w.path(namespace, ""), body))
		})
	}
	if err := c.truth.until(t.Context(), c.recorder.newestVersion()); err != nil {
		t.Fatal(err)
	}
}
