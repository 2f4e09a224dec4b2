package clients

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// way is one of client-go's clients, for one resource in one namespace.
type way struct {
	list     func(context.Context, metav1.ListOptions) (runtime.Object, error)
	get      func(context.Context, string) (runtime.Object, error) // version 0
	watch    func(context.Context, metav1.ListOptions) (watch.Interface, error)
	informer cache.SharedIndexInformer
}

// maker makes a client of a server. The same maker is used for the apiserver
// and for Sluice.
type maker func(cfg *rest.Config, s sample, namespace string) (way, error)

var anyVersion = metav1.GetOptions{ResourceVersion: "0"}

// typedAs makes typed clients that name a content type; empty leaves it to
// client-go.
func typedAs(contentType string) maker {
	return func(cfg *rest.Config, s sample, namespace string) (way, error) {
		cfg.ContentType = contentType
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return way{}, err
		}
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
		informer, err := factory.ForResource(s.gvr)
		if err != nil {
			return way{}, err
		}
		var w way
		switch s.kind {
		case "Pod":
			w = typed(client.CoreV1().Pods(namespace))
		case "ConfigMap":
			w = typed(client.CoreV1().ConfigMaps(namespace))
		case "Deployment":
			w = typed(client.AppsV1().Deployments(namespace))
		case "Lease":
			w = typed(client.CoordinationV1().Leases(namespace))
		}
		w.informer = informer.Informer()
		return w, nil
	}
}

// reads are those of a typed client.
type reads[O, L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Get(context.Context, string, metav1.GetOptions) (O, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func typed[O, L runtime.Object](r reads[O, L]) way {
	return way{
		list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		get:   func(ctx context.Context, name string) (runtime.Object, error) { return r.Get(ctx, name, anyVersion) },
		watch: r.Watch,
	}
}

// asUnstructured makes dynamic clients.
func asUnstructured(cfg *rest.Config, s sample, namespace string) (way, error) {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return way{}, err
	}
	r := client.Resource(s.gvr).Namespace(namespace)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	return way{
		list:     func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		get:      func(ctx context.Context, name string) (runtime.Object, error) { return r.Get(ctx, name, anyVersion) },
		watch:    r.Watch,
		informer: factory.ForResource(s.gvr).Informer(),
	}, nil
}

// asMetadata makes metadata clients.
func asMetadata(cfg *rest.Config, s sample, namespace string) (way, error) {
	client, err := metadata.NewForConfig(cfg)
	if err != nil {
		return way{}, err
	}
	r := client.Resource(s.gvr).Namespace(namespace)
	factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, namespace, nil)
	return way{
		list:     func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		get:      func(ctx context.Context, name string) (runtime.Object, error) { return r.Get(ctx, name, anyVersion) },
		watch:    r.Watch,
		informer: factory.ForResource(s.gvr).Informer(),
	}, nil
}
