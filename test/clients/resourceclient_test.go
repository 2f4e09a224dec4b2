package clients

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// resourceClient is a client of client-go for one resource in one namespace.
type resourceClient struct {
	list     func(context.Context, metav1.ListOptions) (runtime.Object, error)
	get      func(context.Context, string) (runtime.Object, error) // at any version
	informer cache.SharedIndexInformer
}

// maker returns a client for the server of cfg: the apiserver or Sluice.
type maker func(cfg *rest.Config, s sample, namespace string) resourceClient

var anyVersion = metav1.GetOptions{ResourceVersion: "0"}

// typedAs returns a maker of typed clients with a content type; empty means client-go's default.
func typedAs(contentType string) maker {
	return func(cfg *rest.Config, s sample, namespace string) (w resourceClient) {
		cfg.ContentType = contentType
		client := kubernetes.NewForConfigOrDie(cfg)
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
		informer, err := factory.ForResource(s.gvr())
		if err != nil {
			panic(err) // never, for a built-in resource
		}
		switch s.API.Kind {
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
		return w
	}
}

// reader is the methods of a typed client.
type reader[O, L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Get(context.Context, string, metav1.GetOptions) (O, error)
}

func typed[O, L runtime.Object](r reader[O, L]) resourceClient {
	return resourceClient{
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		get:  func(ctx context.Context, name string) (runtime.Object, error) { return r.Get(ctx, name, anyVersion) },
	}
}

// asUnstructured is the maker of dynamic clients.
func asUnstructured(cfg *rest.Config, s sample, namespace string) resourceClient {
	client := dynamic.NewForConfigOrDie(cfg)
	r := client.Resource(s.gvr()).Namespace(namespace)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	return resourceClient{
		list:     func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		get:      func(ctx context.Context, name string) (runtime.Object, error) { return r.Get(ctx, name, anyVersion) },
		informer: factory.ForResource(s.gvr()).Informer(),
	}
}

// asMetadata is the maker of metadata clients.
func asMetadata(cfg *rest.Config, s sample, namespace string) resourceClient {
	client := metadata.NewForConfigOrDie(cfg)
	r := client.Resource(s.gvr()).Namespace(namespace)
	factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, namespace, nil)
	return resourceClient{
		list:     func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return r.List(ctx, o) },
		get:      func(ctx context.Context, name string) (runtime.Object, error) { return r.Get(ctx, name, anyVersion) },
		informer: factory.ForResource(s.gvr()).Informer(),
	}
}
