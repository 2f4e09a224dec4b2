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

// cachedKind is a form in which controller-runtime's cache stores objects, with its selectors.
type cachedKind struct {
	name     string
	sample   sample
	object   client.Object
	list     client.ObjectList // is copied
	selected runtimecache.ByObject
}

func cachedKinds() []cachedKind {
	appX := labels.SelectorFromSet(labels.Set{"app": "x"})
	pending := fields.OneTermEqualSelector("status.phase", "Pending")
	red := fields.OneTermEqualSelector("spec.color", "red")
	return []cachedKind{
		{"typed, by label and field", pods, &corev1.Pod{}, &corev1.PodList{}, runtimecache.ByObject{Label: appX, Field: pending}},
		{"unstructured", deployments, of(deployments, "", &unstructured.Unstructured{}),
			of(deployments, "List", &unstructured.UnstructuredList{}), runtimecache.ByObject{}},
		{"unstructured custom resource, by field", gadgets, of(gadgets, "", &unstructured.Unstructured{}),
			of(gadgets, "List", &unstructured.UnstructuredList{}), runtimecache.ByObject{Field: red}},
		{"metadata, by label", configMaps, of(configMaps, "", &metav1.PartialObjectMetadata{}),
			of(configMaps, "List", &metav1.PartialObjectMetadataList{}), runtimecache.ByObject{Label: appX}},
	}
}

// of gives an object the kind of a sample, or a list with the suffix List the kind of its lists.
func of[O runtime.Object](s sample, suffix string, o O) O {
	o.GetObjectKind().SetGroupVersionKind(s.GV.WithKind(s.API.Kind + suffix))
	return o
}

// Typed, unstructured and metadata objects, each with selectors of its own.
func TestControllerRuntimeCacheHoldsTheApiserversObjects(t *testing.T) {
	log.SetLogger(logr.Discard()) // it warns without a logger
	defineGadgets(t)
	namespace := apiserver.Namespace(t)
	kinds := cachedKinds()
	for _, k := range kinds {
		k.sample.in(t, namespace).create("first")
		k.sample.sync(t, sluice)
	}
	direct, err := client.New(apiserver.RESTConfig("admin"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cached, responses := startCache(t, kinds, namespace, direct.RESTMapper())
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			followKind(t, direct, cached, k, k.sample.in(t, namespace), namespace)
		})
	}
	responses.check(t, "cache", inJSON, inProtobuf)
}

// startCache starts a cache and records its reads, without discovery, which mapper has done.
func startCache(t *testing.T, kinds []cachedKind, namespace string, mapper meta.RESTMapper) (runtimecache.Cache, *responses) {
	t.Helper()
	cfg, responses := record(sluice.RESTConfig("admin"))
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
	ended := make(chan error)
	go func() { ended <- c.Start(t.Context()) }()
	t.Cleanup(func() { // the context of the test has ended
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c, responses
}

// followKind changes objects, and after each change waits until the cache has it.
func followKind(t *testing.T, direct client.Client, cached runtimecache.Cache, k cachedKind, w objectWriter, namespace string) {
	informer, err := cached.GetInformer(t.Context(), k.object) // waits until it has synced
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var calls []string // of the event handler; guarded by mu
	record := func(call string, o any) {
		name, _ := toolscache.ObjectToName(o)
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call+" "+name.Name)
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { record("add", o) },
		UpdateFunc: func(_, o any) { record("update", o) },
		DeleteFunc: func(o any) { record("delete", o) },
	}); err != nil {
		t.Fatal(err)
	}
	same := func(after string, count int) {
		t.Helper()
		harness.Eventually(t, "the cache after "+after, func() error {
			return sameKind(t.Context(), direct, cached, k, namespace, count)
		})
	}
	selected := k.selected.Label != nil
	same("the initial list", 1)
	w.create("second")
	same("a creation", 2)
	w.label("second", "n", "2")
	same("an update", 2)
	w.label("second", "app", "other")
	if selected {
		same("the object is no longer selected", 1)
	} else {
		same("another update", 2)
	}
	w.label("second", "app", "x")
	same("the object is selected again", 2)
	w.delete("second")
	same("a deletion", 1)
	want := []string{"add first", "add second", "update second", "update second", "update second", "delete second"}
	if selected {
		want = []string{"add first", "add second", "update second", "delete second", "add second", "delete second"}
	}
	if k.sample.API.Kind == "Pod" { // the deletion timestamp is set first
		want = slices.Insert(want, len(want)-1, "update second")
	}
	harness.Eventually(t, "event handler calls", func() error {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(calls, want) {
			return fmt.Errorf("calls %q, want %q", calls, want)
		}
		return nil
	})
}

// sameKind compares the list of the cache with the apiserver's.
func sameKind(ctx context.Context, direct client.Client, cached client.Reader, k cachedKind, namespace string, count int) error {
	want, have := k.list.DeepCopyObject().(client.ObjectList), k.list.DeepCopyObject().(client.ObjectList)
	o := &client.ListOptions{Namespace: namespace, LabelSelector: k.selected.Label, FieldSelector: k.selected.Field}
	if err := direct.List(ctx, want, o); err != nil {
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

// kindless returns the items of a list by name, without their kinds: the cache sets the kind of typed
// objects, the client does not.
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
