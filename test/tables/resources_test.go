package tables

import (
	"path"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A listed is one resource that can be listed.
type listed struct {
	gv   schema.GroupVersion
	kind metav1.APIResource
}

func (l listed) String() string { return path.Join(l.gv.String(), l.kind.Name) }

// path returns the URL path of the list across namespaces.
func (l listed) path() string {
	if l.gv.Group == "" {
		return path.Join("/api", l.gv.Version, l.kind.Name)
	}
	return path.Join("/apis", l.gv.String(), l.kind.Name)
}

func (l listed) watchable() bool { return slices.Contains(l.kind.Verbs, "watch") }

// builtin returns every built-in resource in discovery that can be listed.
func builtin(t *testing.T) []listed {
	t.Helper()
	_, lists, err := server.Client("admin").Discovery().ServerGroupsAndResources()
	if err != nil && len(lists) == 0 {
		t.Fatal(err)
	}
	var all []listed
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(gv.Group, "example.com") {
			continue
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") {
				all = append(all, listed{gv, r})
			}
		}
	}
	if len(all) < 80 {
		t.Fatalf("only %d resources", len(all))
	}
	return all
}
