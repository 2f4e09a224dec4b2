package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	discovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// resource is a resource of the apiserver in one version.
type resource struct {
	schema.GroupVersionResource
	is discovery.APIResourceDiscovery
}

// discover returns the resources of the apiserver, preferred versions first.
func discover(ctx context.Context, cfg *rest.Config) (found []resource, err error) {
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{"/api", "/apis"} {
		text, err := client.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx).Raw()
		if err != nil {
			return nil, fmt.Errorf("discovery: %w", err)
		}
		var list discovery.APIGroupDiscoveryList
		if err := json.Unmarshal(text, &list); err != nil || list.Kind != "APIGroupDiscoveryList" {
			return nil, fmt.Errorf("discovery: %s has no list of resources: %w", path, err)
		}
		for _, group := range list.Items {
			for _, version := range group.Versions {
				for _, r := range version.Resources {
					gvr := schema.GroupVersionResource{Group: group.Name, Version: version.Version, Resource: r.Resource}
					found = append(found, resource{gvr, r})
				}
			}
		}
	}
	return found, nil
}

// find finds pods, pod, po, deployments.apps and deployments.v1.apps.
func find(all []resource, name string) (schema.GroupVersionResource, error) {
	full, short := schema.ParseResourceArg(strings.ToLower(name))
	for _, r := range all {
		named := func(as string) bool {
			return as == r.Resource || as == r.is.SingularResource || slices.Contains(r.is.ShortNames, as)
		}
		if full != nil && named(full.Resource) && full.Version == r.Version && full.Group == r.Group ||
			named(short.Resource) && (short.Group == "" || short.Group == r.Group) {
			return r.GroupVersionResource, nil
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("the apiserver has no resource %q: kubectl api-resources lists those it has", name)
}
