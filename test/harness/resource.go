package harness

import (
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is a resource in one of its versions, as discovery lists it.
type Resource struct {
	GV  schema.GroupVersion
	API metav1.APIResource
}

// Resources returns every resource that can be listed, except those of groups whose API server does not respond.
func (c *ControlPlane) Resources() ([]Resource, error) {
	_, lists, err := c.Client("admin").Discovery().ServerGroupsAndResources()
	if err != nil && len(lists) == 0 {
		return nil, err
	}
	var all []Resource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, api := range list.APIResources {
			if r := (Resource{gv, api}); r.Can("list") {
				all = append(all, r)
			}
		}
	}
	return all, nil
}

func (r Resource) String() string { return path.Join(r.GV.String(), r.API.Name) }

// SyncName names the resource in the report of readiness.
func (r Resource) SyncName() string {
	return strings.TrimSuffix(r.API.Name+"."+r.GV.Version+"."+r.GV.Group, ".")
}

// Path returns the URL path of the resource in a namespace; in all of them if it is empty or the resource has none.
func (r Resource) Path(namespace string) string {
	base := path.Join("/apis", r.GV.String())
	if r.GV.Group == "" {
		base = path.Join("/api", r.GV.Version)
	}
	if namespace != "" && r.API.Namespaced {
		base = path.Join(base, "namespaces", namespace)
	}
	return path.Join(base, r.API.Name)
}

// Can returns whether the resource supports a verb.
func (r Resource) Can(verb string) bool { return slices.Contains(r.API.Verbs, verb) }
