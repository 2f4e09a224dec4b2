package conformance

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

const (
	maxBuiltIn    = 3    // built-in resources that are read
	maxExtensions = 4    // resources of CRDs and extension servers, one of each group
	maxLooks      = 24   // lists that are read to find resources with objects
	pageLimit     = "50" // objects of the first page of a list
)

// usual are the built-in resources to read. They are likely to have objects that stay, none of them secret.
var usual = []string{"clusterroles", "namespaces", "pods", "serviceaccounts", "services", "configmaps", "deployments", "nodes"}

// resource is a resource that is read, in one namespace or in all.
type resource struct {
	schema.GroupVersionResource
	namespaced bool
	namespace  string // empty means all

	page metav1.PartialObjectMetadataList // the first
	size int                              // of the page in bytes
	err  error                            // why there is no page
}

// name returns the name that users give it.
func (r *resource) name() string {
	if r.builtIn() {
		return r.Resource
	}
	return r.GroupResource().String()
}

func (r *resource) builtIn() bool {
	return !strings.Contains(r.Group, ".") || strings.HasSuffix(r.Group, ".k8s.io")
}

// path returns the path of a list or watch; options are names and values of its query.
func (r *resource) path(options ...string) string {
	query := url.Values{}
	for pair := range slices.Chunk(options, 2) {
		query.Set(pair[0], pair[1])
	}
	return r.in(r.namespace) + "?" + query.Encode()
}

// object returns the path of an object beside the oldest one.
func (r *resource) object(name string) string { return r.in(r.oldest().Namespace) + "/" + name }

func (r *resource) in(namespace string) string {
	path := "/apis/" + r.GroupVersion().String() + "/"
	if r.Group == "" {
		path = "/api/" + r.Version + "/"
	}
	if namespace != "" {
		path += "namespaces/" + namespace + "/"
	}
	return path + r.Resource
}

// oldest returns the object that has been there for the longest time, which is likely to stay.
func (r *resource) oldest() metav1.PartialObjectMetadata {
	return slices.MinFunc(r.page.Items, func(a, b metav1.PartialObjectMetadata) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
}

// choose returns the resources to read: some that have objects, and those that cannot be listed.
func (p *probe) choose(ctx context.Context) ([]*resource, error) {
	found, err := p.discover()
	if err != nil {
		return nil, err
	}
	var chosen []*resource
	builtIn, groups := 0, map[string]bool{}
	for _, r := range found[:min(maxLooks, len(found))] {
		enough := r.builtIn() && builtIn == maxBuiltIn || !r.builtIn() && (groups[r.Group] || len(groups) == maxExtensions)
		if enough && len(p.Resources) == 0 || !p.look(ctx, r) {
			continue
		}
		chosen = append(chosen, r)
		if r.builtIn() {
			builtIn++
		} else {
			groups[r.Group] = true
		}
	}
	if len(chosen) == 0 {
		err = fmt.Errorf("no resource has objects that this user may list, in all namespaces or in %s", p.Namespace)
	}
	return chosen, err
}

// discover returns the resources that can be listed and watched, the usual ones first.
func (p *probe) discover() ([]*resource, error) {
	cfg := rest.CopyConfig(p.client.cfg)
	cfg.Timeout = p.Patience
	client, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, p.client.http)
	if err != nil {
		return nil, err
	}
	lists, err := client.ServerPreferredResources()
	if len(lists) == 0 { // an extension server that is down is no reason
		return nil, fmt.Errorf("discovery: %w", err)
	}
	var found []*resource
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		version, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, kind := range list.APIResources {
			r := &resource{GroupVersionResource: version.WithResource(kind.Name), namespaced: kind.Namespaced}
			if slices.Contains(p.Resources, r.name()) || len(p.Resources) == 0 && (!r.builtIn() || slices.Contains(usual, r.Resource)) {
				found = append(found, r)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *resource) int { return cmp.Compare(a.rank(), b.rank()) })
	return found, nil
}

func (r *resource) rank() int {
	if r.builtIn() {
		return slices.Index(usual, r.Resource)
	}
	return len(usual)
}

// look reads the first page of a resource, and reports whether to read on.
func (p *probe) look(ctx context.Context, r *resource) bool {
	var a *answer
	a, r.err = p.read(ctx, r.path("limit", pageLimit), nil, &r.page)
	if why := refused(r.err); why.status.Kind != "" && why.code < http.StatusInternalServerError {
		if why.code != http.StatusForbidden || !r.namespaced || r.namespace != "" {
			return false // the API says that there is nothing to read
		}
		r.namespace = p.Namespace
		return p.look(ctx, r)
	}
	if r.err == nil {
		r.size = len(a.body)
	}
	return r.err != nil || len(r.page.Items) > 0
}
