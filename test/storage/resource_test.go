package storage

import (
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// namespace holds the objects of namespaced resources. It need not exist.
const namespace = "storage"

// A resource is a built-in resource in one of its versions, as discovery lists it.
type resource struct {
	gv  schema.GroupVersion
	api metav1.APIResource
}

func (r resource) String() string { return path.Join(r.gv.String(), r.api.Name) }

// syncName names the resource in the report of readiness.
func (r resource) syncName() string {
	return strings.TrimSuffix(r.api.Name+"."+r.gv.Version+"."+r.gv.Group, ".")
}

// root returns the URL path of the resource in all namespaces.
func (r resource) root() string {
	if r.gv.Group == "" {
		return path.Join("/api", r.gv.Version, r.api.Name)
	}
	return path.Join("/apis", r.gv.String(), r.api.Name)
}

// collection returns the URL path of the resource in a namespace, if it has namespaces.
func (r resource) collection(ns string) string {
	if !r.api.Namespaced {
		return r.root()
	}
	return path.Join(path.Dir(r.root()), "namespaces", ns, r.api.Name)
}

func (r resource) can(verb string) bool { return slices.Contains(r.api.Verbs, verb) }

// resources returns every built-in resource in discovery that can be listed.
func resources(t *testing.T) []resource {
	t.Helper()
	all, err := discovered()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 80 {
		t.Fatalf("only %d resources", len(all))
	}
	return all
}

// discovered asks once, before random APIServices add groups that nobody serves.
var discovered = sync.OnceValues(func() ([]resource, error) {
	_, lists, err := server.Client("admin").Discovery().ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	var all []resource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, api := range list.APIResources {
			if slices.Contains(api.Verbs, "list") {
				all = append(all, resource{gv, api})
			}
		}
	}
	return all, nil
})

// storagePrefixes are the keys of resources that are not stored under their own name. Sources:
// SpecialDefaultResourcePrefixes in kube-apiserver, and the default of generic API servers.
var storagePrefixes = map[string]string{
	"replicationcontrollers":    "controllers",
	"endpoints":                 "services/endpoints",
	"nodes":                     "minions",
	"services":                  "services/specs",
	"ingresses":                 "ingress",
	"customresourcedefinitions": "apiextensions.k8s.io/customresourcedefinitions",
	"apiservices":               "apiregistration.k8s.io/apiservices",
}

// storageKey returns the key of an object of the resource in etcd.
func (r resource) storageKey(name string) string {
	prefix := storagePrefixes[r.api.Name]
	if prefix == "" {
		prefix = r.api.Name
	}
	if r.api.Namespaced {
		return path.Join("/registry", prefix, namespace, name)
	}
	return path.Join("/registry", prefix, name)
}
