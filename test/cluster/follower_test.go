package cluster

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// event is one change of an object.
type event struct {
	kind    watch.EventType
	name    string
	version string
}

// follower is an informer with a connection of its own, as a client in another process has.
type follower struct {
	handler cache.ResourceEventHandlerRegistration
	lists   atomic.Int64 // requests for all objects, by LIST or as initial events of a WATCH

	mu     sync.Mutex // guards what follows
	events []event    // after the first list
	same   int        // updates that changed nothing: a second list
	now    map[string]string
}

func (e *edge) follow(t *testing.T, namespace string) *follower {
	t.Helper()
	f := &follower{now: make(map[string]string)}
	config := e.config("admin")
	config.Dial = (&net.Dialer{}).DialContext // a function of its own prevents that clients share connections
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counter{next, f} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	f.handler, err = informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, initial bool) {
			f.add(watch.Added, o.(*corev1.ConfigMap), initial)
		},
		UpdateFunc: func(before, o any) {
			f.add(watch.Modified, o.(*corev1.ConfigMap), before.(*corev1.ConfigMap).ResourceVersion == o.(*corev1.ConfigMap).ResourceVersion)
		},
		DeleteFunc: func(o any) {
			if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = unknown.Obj
			}
			f.add(watch.Deleted, o.(*corev1.ConfigMap), false)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(t.Context()) })
	t.Cleanup(running.Wait)
	return f
}

// add records an event. A silent one repeats the present state: it is part of the first list or of another.
func (f *follower) add(kind watch.EventType, m *corev1.ConfigMap, silent bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now[m.Name] = m.ResourceVersion; kind == watch.Deleted {
		delete(f.now, m.Name)
	}
	switch {
	case !silent:
		f.events = append(f.events, event{kind, m.Name, m.ResourceVersion})
	case kind == watch.Modified:
		f.same++
	}
}

func (f *follower) state() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.now)
}

// compare returns an error unless the follower has the events of the apiserver. After a second list only the events of each object
// must have the apiserver's order.
func (f *follower) compare(truth []event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	got := slices.DeleteFunc(slices.Clone(f.events), func(e event) bool { return e.name == "last" })
	if f.lists.Load() == 1 {
		if f.same > 0 {
			return fmt.Errorf("%d updates changed nothing", f.same)
		}
		if !slices.Equal(got, truth) {
			return fmt.Errorf("%d events without a second list, the apiserver sent %d: %v", len(got), len(truth), firstDifference(got, truth))
		}
		return nil
	}
	last := make(map[string]uint64)
	for _, e := range got {
		version, err := strconv.ParseUint(e.version, 10, 64)
		if err != nil {
			return err
		}
		// A list that replaces a deleted object shows the deletion with the version that was known.
		if version <= last[e.name] && e.kind != watch.Deleted {
			return fmt.Errorf("%v after version %d", e, last[e.name])
		}
		last[e.name] = max(version, last[e.name])
	}
	return nil
}

func firstDifference(got, want []event) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("number %d is %v, want %v", i, got[i], want[i])
		}
	}
	return "one has more at its end"
}

// counter counts the requests of a follower.
type counter struct {
	next http.RoundTripper
	f    *follower
}

// RoundTrip implements http.RoundTripper.
func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	if q := r.URL.Query(); q.Get("watch") == "" || q.Get("sendInitialEvents") == "true" {
		c.f.lists.Add(1)
	}
	return c.next.RoundTrip(r)
}
