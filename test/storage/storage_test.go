package storage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"testing"

	"sluice/test/harness"
)

// notStored maps resources whose objects are not in etcd to the reason.
var notStored = map[string]string{
	"v1/componentstatuses": "the apiserver computes them",
}

// passed maps resources to the reason why Sluice does not serve all formats from its cache.
var passed = map[string]string{
	"autoscaling/v1/horizontalpodautoscalers":     "some cells of Tables cannot be derived from the version",
	"flowcontrol.apiserver.k8s.io/v1/flowschemas": "the rows of Tables are in an order of their own",
	"lifecycle.k8s.io/v1alpha1/evictions":         "a cell of Tables counts the time down",
}

// undetermined maps resources to the objects that do not determine their cells: Tables that have one of them pass.
var undetermined = map[string][]string{
	"storage.k8s.io/v1/storageclasses": {"beta-default", "fast"},
}

// TestResponsesOfStoredObjectsEqualTheApiservers compares get, list and watch of every built-in resource
// in every format.
func TestResponsesOfStoredObjectsEqualTheApiservers(t *testing.T) {
	all := resources(t)
	names := fill(t, all, storedObjects)
	for _, r := range all {
		t.Run(r.String(), func(t *testing.T) {
			if why := notStored[r.String()]; why != "" {
				t.Skip(why)
			}
			checkResource(t, r, names[r.storageKey("")])
		})
	}
}

// fill writes objects of all resources and returns their names by the key of their collection in etcd: resources share
// objects.
func fill(t *testing.T, all []resource, objects func(*testing.T, resource) []stored) map[string][]string {
	t.Helper()
	names := make(map[string][]string)
	for _, r := range all {
		key := r.storageKey("")
		if _, ok := names[key]; !ok && notStored[r.String()] == "" {
			names[key] = fillResource(t, r, objects(t, r))
		}
	}
	return names
}

// fillResource writes the objects of a resource and returns their names. An object that the apiserver cannot decode or
// convert fails the test, unless the apiserver is of another release, and is deleted because it fails every list.
func fillResource(t *testing.T, r resource, objects []stored) (names []string) {
	t.Helper()
	for _, s := range objects {
		key := r.storageKey(s.name)
		put(t, key, s)
		resp, err := server.Raw("admin").Get(t.Context(), path.Join(r.Path(namespace), s.name), inJSON)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Status == http.StatusOK {
			names = append(names, s.name)
			continue
		}
		if os.Getenv("CONTROLPLANE") == "" {
			t.Errorf("%s: the apiserver cannot read %s %s: %.300s", r, s.gvk, s.name, resp.Body)
		}
		if err := server.DeleteStored(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// put writes an object to etcd.
func put(t *testing.T, key string, s stored) {
	t.Helper()
	value, err := encode(s)
	if err == nil {
		err = server.PutStored(t.Context(), key, value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func checkResource(t *testing.T, r resource, names []string) {
	if len(names) == 0 {
		t.Fatal("no objects")
	}
	harness.Eventually(t, "the watch cache of the apiserver has the objects", func() error { return listed(t, r, len(names)) })
	gateway.WaitForCacheSync(t, r.Path(""), r.SyncName())
	selected := r.Path(namespace) + "?resourceVersion=0&labelSelector=" + label
	empty := r.Path("empty") + "?resourceVersion=0&labelSelector=" + label + "=none"
	for _, f := range formats() {
		failed := make(map[string]int) // by verb
		check := func(verb, source string, err error) {
			unprinted := passed[r.String()] != "" || undetermined[r.String()] != nil && f.as == asTable
			if err == nil && !strings.HasPrefix(source, "cache") && !unprinted {
				err = fmt.Errorf("not from the cache: %s", source)
			}
			if err == nil {
				return
			}
			if failed[verb]++; failed[verb] == 1 { // the others are nearly always the same
				t.Errorf("%s %v: %v", verb, f, err)
			}
		}
		for _, url := range []string{selected, empty} {
			source, err := compare(t.Context(), url+f.query, f.code+f.list)
			check("list", source, err)
		}
		for _, name := range names {
			url := path.Join(r.Path(namespace), name) + "?resourceVersion=0" + f.query
			source, err := compare(t.Context(), url, f.code+f.as)
			check("get", source, err)
		}
		if r.Can("watch") && f.code != inYAML {
			url := selected + "&watch=true" + f.query
			source, err := compareWatch(t.Context(), url, f.code+f.as, len(names))
			check("watch", source, err)
			if r.API.Kind == "Event" {
				continue // has no watch cache at the apiserver, and so no bookmarks
			}
			url += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
			source, err = compareWatch(t.Context(), url, f.code+f.as, len(names)+1)
			check("streaming-list", source, err)
		}
	}
}

// listed returns an error until both have n objects.
func listed(t *testing.T, r resource, n int) error {
	for _, c := range []*harness.RawClient{server.Raw("admin"), gateway.Raw("admin")} {
		resp, err := c.Get(t.Context(), r.Path(namespace)+"?resourceVersion=0&labelSelector="+label, inJSON)
		if err != nil {
			return err
		}
		var list struct{ Items []json.RawMessage }
		if err := json.Unmarshal(resp.Body, &list); err != nil || len(list.Items) != n {
			return fmt.Errorf("%d objects, want %d: %v: %.300s", len(list.Items), n, err, resp.Body)
		}
	}
	return nil
}
