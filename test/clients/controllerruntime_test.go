package clients

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	runtimecache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sluice/test/harness"
)

// cachedKind is one of the forms in which controller-runtime's cache holds
// objects, with what is selected of them.
type cachedKind struct {
	name     string
	sample   sample
	object   client.Object
	list     func() client.ObjectList
	selected runtimecache.ByObject
	selects  []client.ListOption // the same
}

func cachedKinds() []cachedKind {
	appX := labels.SelectorFromSet(labels.Set{"app": "x"})
	pending := fields.OneTermEqualSelector("status.phase", "Pending")
	red := fields.OneTermEqualSelector("spec.color", "red")
	return []cachedKind{
		{
			"typed, by label and field", pods, &corev1.Pod{}, func() client.ObjectList { return &corev1.PodList{} },
			runtimecache.ByObject{Label: appX, Field: pending},
			[]client.ListOption{client.MatchingLabelsSelector{Selector: appX}, client.MatchingFieldsSelector{Selector: pending}},
		},
		{
			"unstructured", deployments, unstructuredOf(deployments), func() client.ObjectList { return unstructuredsOf(deployments) },
			runtimecache.ByObject{}, nil,
		},
		{
			"unstructured custom resource, by field", gadgets, unstructuredOf(gadgets), func() client.ObjectList { return unstructuredsOf(gadgets) },
			runtimecache.ByObject{Field: red}, []client.ListOption{client.MatchingFieldsSelector{Selector: red}},
		},
		{
			"metadata, by label", configMaps, metadataOf(configMaps), func() client.ObjectList { return metadatasOf(configMaps) },
			runtimecache.ByObject{Label: appX}, []client.ListOption{client.MatchingLabelsSelector{Selector: appX}},
		},
	}
}

func gvk(s sample) schema.GroupVersionKind     { return s.gvr.GroupVersion().WithKind(s.kind) }
func listGVK(s sample) schema.GroupVersionKind { return s.gvr.GroupVersion().WithKind(s.kind + "List") }

func unstructuredOf(s sample) client.Object {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk(s))
	return o
}

func unstructuredsOf(s sample) client.ObjectList {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(listGVK(s))
	return l
}

func metadataOf(s sample) client.Object {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(gvk(s))
	return o
}

func metadatasOf(s sample) client.ObjectList {
	l := &metav1.PartialObjectMetadataList{}
	l.SetGroupVersionKind(listGVK(s))
	return l
}

// controller-runtime's cache holds, through Sluice, what its client reads from
// the apiserver: typed, unstructured and metadata only, selected by object.
func TestControllerRuntimeCache(t *testing.T) {
	log.SetLogger(logr.Discard()) // it complains if it has none
	defineGadgets(t, plane)
	namespace := plane.Namespace(t)
	kinds := cachedKinds()
	for _, k := range kinds {
		k.sample.at(t, plane, namespace).create("first")
		k.sample.sync(t, sluice)
	}
	direct, err := client.New(plane.RESTConfig("admin"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cached, answers := startCache(t, kinds, namespace, direct.RESTMapper())
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			followKind(t, direct, cached, k, k.sample.at(t, plane, namespace), namespace)
		})
	}
	t.Run("index", func(t *testing.T) { testIndex(t, cached, namespace) })
	answers.allFrom(t, "cache", inJSON, inProtobuf)
}

// startCache starts a cache whose reads are recorded, without the discovery
// that the mapper makes.
func startCache(t *testing.T, kinds []cachedKind, namespace string, mapper meta.RESTMapper) (runtimecache.Cache, *answers) {
	t.Helper()
	cfg, answers := record(sluice.RESTConfig("admin"))
	http, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	o := runtimecache.Options{
		HTTPClient: http, Mapper: mapper, ByObject: map[client.Object]runtimecache.ByObject{},
		DefaultNamespaces: map[string]runtimecache.Config{namespace: {}},
	}
	for _, k := range kinds {
		o.ByObject[k.object] = k.selected
	}
	c, err := runtimecache.New(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.IndexField(t.Context(), &corev1.Pod{}, "image", func(o client.Object) []string {
		return []string{o.(*corev1.Pod).Spec.Containers[0].Image}
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c, answers
}

// followKind makes changes and waits until the cache holds each.
func followKind(t *testing.T, direct client.Client, cached runtimecache.Cache, k cachedKind, w writes, namespace string) {
	informer, err := cached.GetInformer(t.Context(), k.object) // waits until it is in sync
	if err != nil {
		t.Fatal(err)
	}
	events := &happenings{}
	if _, err := informer.AddEventHandler(events); err != nil {
		t.Fatal(err)
	}
	same := func(after string, count int) {
		t.Helper()
		harness.Eventually(t, "the cache after "+after, func() error {
			return sameKind(t.Context(), direct, cached, k, namespace, count)
		})
	}
	selected := k.selected.Label != nil
	same("the start", 1)
	w.create("second")
	same("a creation", 2)
	w.label("second", "n", "2")
	same("an update", 2)
	w.label("second", "app", "other")
	if selected {
		same("it has left the selection", 1)
	} else {
		same("another update", 2)
	}
	w.label("second", "app", "x")
	same("it is selected again", 2)
	w.delete("second")
	same("a deletion", 1)
	want := []string{"add first", "add second", "update second", "update second", "update second", "delete second"}
	if selected {
		want = []string{"add first", "add second", "update second", "delete second", "add second", "delete second"}
	}
	if k.sample.kind == "Pod" { // marked before it is deleted
		want = slices.Insert(want, len(want)-1, "update second")
	}
	harness.Eventually(t, "handlers are told", func() error { return events.differ(want) })
}

// sameKind compares what the cache lists with what the apiserver does.
func sameKind(ctx context.Context, direct client.Client, cached client.Reader, k cachedKind, namespace string, count int) error {
	want, have := k.list(), k.list()
	if err := direct.List(ctx, want, append(k.selects, client.InNamespace(namespace))...); err != nil {
		return err
	}
	if err := cached.List(ctx, have, client.InNamespace(namespace)); err != nil {
		return err
	}
	if n := meta.LenList(want); n != count {
		return fmt.Errorf("the apiserver lists %d objects, want %d", n, count)
	}
	if diff := cmp.Diff(kindless(want), kindless(have)); diff != "" {
		return fmt.Errorf("-apiserver +cache:\n%s", diff)
	}
	return nil
}

// kindless are a list's objects by name. The cache sets the kinds of typed
// ones, the client does not.
func kindless(list client.ObjectList) map[string]client.Object {
	all := map[string]client.Object{}
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		object := o.(client.Object)
		all[object.GetName()] = object
		return nil
	})
	return all
}

// testIndex reads the cache by an index of its own.
func testIndex(t *testing.T, cached client.Reader, namespace string) {
	for image, want := range map[string]int{"i": 1, "other": 0} {
		var list corev1.PodList
		if err := cached.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingFields{"image": image}); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != want {
			t.Errorf("%d pods have image %s, want %d", len(list.Items), image, want)
		}
	}
}

// happenings are what a handler of events was told.
type happenings struct {
	mu  sync.Mutex
	all []string
}

var _ toolscache.ResourceEventHandler = (*happenings)(nil)

func (h *happenings) OnAdd(o any, _ bool) { h.note("add", o) }
func (h *happenings) OnUpdate(_, o any)   { h.note("update", o) }
func (h *happenings) OnDelete(o any)      { h.note("delete", o) }

func (h *happenings) note(what string, o any) {
	name := fmt.Sprintf("%T", o)
	if object, ok := o.(metav1.Object); ok {
		name = object.GetName()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, what+" "+name)
}

func (h *happenings) differ(want []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.all, want) {
		return fmt.Errorf("told %q, want %q", h.all, want)
	}
	return nil
}
