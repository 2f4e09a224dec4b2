package storage

import (
	"path"
	"sync"
	"testing"

	"sluice/test/harness"
)

// namespace holds the objects of namespaced resources. It need not exist.
const namespace = "storage"

// A resource is a built-in resource in one of its versions.
type resource struct{ harness.Resource }

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
var discovered = sync.OnceValues(func() (all []resource, err error) {
	listed, err := server.Resources()
	for _, r := range listed {
		all = append(all, resource{r})
	}
	return all, err
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
	prefix := storagePrefixes[r.API.Name]
	if prefix == "" {
		prefix = r.API.Name
	}
	if r.API.Namespaced {
		return path.Join("/registry", prefix, namespace, name)
	}
	return path.Join("/registry", prefix, name)
}
