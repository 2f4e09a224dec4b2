package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/sharding"

	"sluice/test/harness"
)

// shardConfig enables shard selectors.
const shardConfig = `
apiVersion: sluice/v1alpha1
kind: Configuration
features: {shardSelector: true}
`

// TestShardsEqualTheApiserver with the feature gate on.
func TestShardsEqualTheApiserver(t *testing.T) {
	t.Parallel()
	apiserver := harness.Start(t, harness.Options{Flags: []string{"--feature-gates=ShardedListAndWatch=true,CBORServingAndStorage=true"}})
	createShardObjects(t, apiserver)
	sluice := apiserver.StartSluice(t, harness.SluiceOptions{Config: shardConfig})
	variables := strings.NewReplacer(writeHistory(t, apiserver, sluice)...)
	ends := createEnds(t, apiserver, sluice)
	var rows []Row
	if err := read("testdata/sharded.yaml", &rows); err != nil {
		t.Fatal(err)
	}
	t.Run("rows", func(t *testing.T) {
		for _, row := range rows {
			for _, one := range row.expand() {
				if one.leftOut() {
					continue
				}
				t.Run(one.Name, func(t *testing.T) {
					t.Parallel()
					one = one.replace(variables)
					if one.Until == "{end}" {
						one.Until = lastInShard(t, ends, one.Path)
					}
					if one.After == "" {
						one.check(t, apiserver, sluice)
						return
					}
					for _, s := range []server{apiserver, sluice} {
						var l list
						if err := fetch(t.Context(), s, one.After, &l); err != nil || l.Metadata.Continue == "" {
							t.Fatalf("%s at %T: %v, continue %q", one.After, s, err, l.Metadata.Continue)
						}
						one.replace(strings.NewReplacer("{continue}", l.Metadata.Continue)).check(t, apiserver, sluice)
					}
				})
			}
		}
	})
	t.Run("without the switch", func(t *testing.T) {
		learned := apiserver.StartSluice(t)
		learned.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
		Row{
			Path:   "/api/v1/configmaps?resourceVersion=0&shardSelector=" + url.QueryEscape(shard("uid", 0, 2)),
			Accept: "application/json", Status: http.StatusOK, Shows: []string{"shardInfo"}, Source: "cache",
		}.check(t, apiserver, learned)
	})
	t.Run("union", func(t *testing.T) { testShardsAreDisjointAndComplete(t, sluice) })
}

// shardedCollections are the collections of TestShardsEqualTheApiserver.
var shardedCollections = []string{"/api/v1/configmaps", "/api/v1/namespaces", "/apis/ex.io/v1/foos"}

const fooDefinition = `{"metadata":{"name":"foos.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
	"names":{"plural":"foos","singular":"foo","kind":"Foo","listKind":"FooList"},
	"versions":[{"name":"v1","served":true,"storage":true,
	"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// namespaces have names whose hashes are in both halves.
var namespaces = []string{"s0", "s1", "blue", "green", "red"}

// createShardObjects creates objects in each namespace.
func createShardObjects(t *testing.T, apiserver server) {
	t.Helper()
	writes := []Write{{Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Object: json.RawMessage(fooDefinition)}}
	for i := range namespaces {
		ns := namespaces[i]
		writes = append(writes, Write{Path: "/api/v1/namespaces", Object: fmt.Appendf(nil, `{"metadata":{"name":%q}}`, ns)})
		for j := range 6 {
			object := fmt.Appendf(nil, `{"kind":"Foo","apiVersion":"ex.io/v1","metadata":{"name":"c%02d","labels":{"k":"%d"}},"data":{"a":"<%d>"}}`, j, j%2, i)
			writes = append(writes, Write{Path: "/apis/ex.io/v1/namespaces/" + ns + "/foos", Object: object})
			object = []byte(strings.NewReplacer("Foo", "ConfigMap", "ex.io/v1", "v1").Replace(string(object)))
			writes = append(writes, Write{Path: "/api/v1/namespaces/" + ns + "/configmaps", Object: object})
		}
	}
	for _, w := range writes {
		if err := w.sendWhenServed(t.Context(), apiserver); err != nil {
			t.Fatal(err)
		}
	}
}

// writeHistory has Sluice cache the collections and writes a history: updates, updates that move
// objects into and out of selections, and deletes. It returns the variables {before} and {now}, the
// resource versions at its begin and end.
func writeHistory(t *testing.T, apiserver, sluice server) []string {
	t.Helper()
	for _, c := range shardedCollections {
		sluice.(*harness.Sluice).WaitForCacheSync(t, c, resourceName(c))
	}
	before := createMark(t, apiserver, sluice, "before")
	for _, ns := range namespaces {
		for _, in := range []string{"/api/v1/namespaces/%s/configmaps", "/apis/ex.io/v1/namespaces/%s/foos"} {
			path := fmt.Sprintf(in, ns)
			for _, w := range []Write{
				{Method: http.MethodPatch, Path: path + "/c03", Object: json.RawMessage(`{"data":{"a":"changed"}}`)},
				{Method: http.MethodPatch, Path: path + "/c04", Object: json.RawMessage(`{"metadata":{"labels":{"k":"1"}}}`)},
				{Method: http.MethodPatch, Path: path + "/c05", Object: json.RawMessage(`{"metadata":{"labels":{"k":"0"}}}`)},
				{Method: http.MethodDelete, Path: path + "/c00"},
			} {
				if err := w.sendTo(t.Context(), apiserver); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return []string{"{before}", before, "{now}", createMark(t, apiserver, sluice, "now")}
}

// createEnds creates objects that end the watches of shards, enough for each shard to have some. It
// returns them in the order of their creation.
func createEnds(t *testing.T, apiserver, sluice server) (ends []object) {
	t.Helper()
	const enough = 60
	for i := range enough {
		path := "/api/v1/namespaces/" + namespaces[i%len(namespaces)] + "/configmaps"
		name := fmt.Sprintf("end%02d", i)
		if err := (Write{Path: path, Object: fmt.Appendf(nil, `{"metadata":{"name":%q,"labels":{"k":"0"}}}`, name)}).sendTo(t.Context(), apiserver); err != nil {
			t.Fatal(err)
		}
		var o object
		if err := fetch(t.Context(), apiserver, path+"/"+name, &o); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, o)
		if i == enough-1 {
			waitForCaches(t, apiserver, sluice, "/api/v1/configmaps", path+"/"+name)
		}
	}
	return ends
}

// lastInShard returns the name of the last object of ends in the shard of the path.
func lastInShard(t *testing.T, ends []object, path string) string {
	t.Helper()
	at, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	selector, err := sharding.Parse(at.Query().Get("shardSelector"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range slices.Backward(ends) {
		in, err := selector.Matches(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			UID: types.UID(o.Metadata.UID), Namespace: o.Metadata.Namespace,
		}})
		if err == nil && in {
			return o.Metadata.Name
		}
	}
	t.Fatalf("no object ends the watch of %s", at.Query().Get("shardSelector"))
	return ""
}

// createMark creates an object in each collection and waits until all caches have it. It returns
// the resource version of the first, which all caches then have passed.
func createMark(t *testing.T, apiserver, sluice server, name string) (first string) {
	t.Helper()
	for _, c := range shardedCollections {
		path := strings.NewReplacer("/configmaps", "/namespaces/s0/configmaps", "/foos", "/namespaces/s0/foos").Replace(c)
		object := fmt.Appendf(nil, `{"metadata":{"name":%q}}`, name)
		if strings.HasSuffix(c, "foos") {
			object = fmt.Appendf(nil, `{"kind":"Foo","apiVersion":"ex.io/v1","metadata":{"name":%q}}`, name)
		}
		if err := (Write{Path: path, Object: object}).sendTo(t.Context(), apiserver); err != nil {
			t.Fatal(err)
		}
		version := waitForCaches(t, apiserver, sluice, c, path+"/"+name)
		first = cmp.Or(first, version)
	}
	return first
}

// waitForCaches waits until the caches of both servers have an object, and returns its resource
// version.
func waitForCaches(t *testing.T, apiserver, sluice server, collection, path string) (version string) {
	t.Helper()
	var o object
	if err := fetch(t.Context(), apiserver, path, &o); err != nil {
		t.Fatal(err)
	}
	version = o.Metadata.ResourceVersion
	for _, s := range []server{apiserver, sluice} {
		harness.Eventually(t, path+" is cached", func() error {
			a, err := s.Raw("admin").Get(t.Context(), collection+"?resourceVersionMatch=NotOlderThan&resourceVersion="+version, "application/json")
			if err == nil && strings.HasPrefix(a.Header.Get("Sluice-Source"), "upstream") {
				err = errors.New(a.Header.Get("Sluice-Source"))
			}
			return err
		})
	}
	return version
}

// testShardsAreDisjointAndComplete divides each collection into several numbers of shards.
func testShardsAreDisjointAndComplete(t *testing.T, sluice server) {
	for _, c := range shardedCollections {
		whole, err := uids(t.Context(), sluice, c+"?resourceVersion=0")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []uint64{1, 2, 3, 16} {
			parts := map[string]bool{}
			for i := range n {
				found, err := uids(t.Context(), sluice, c+"?resourceVersion=0&shardSelector="+url.QueryEscape(shard("uid", i, n)))
				if err != nil {
					t.Fatal(err)
				}
				for uid := range found {
					if parts[uid] {
						t.Errorf("%s: %s is in two of %d shards", c, uid, n)
					}
					parts[uid] = true
				}
				if n == 2 && (len(found) == 0 || len(found) == len(whole)) {
					t.Errorf("%s: a half has %d of %d objects", c, len(found), len(whole))
				}
			}
			if !maps.Equal(parts, whole) {
				t.Errorf("%s: %d shards have %d of %d objects", c, n, len(parts), len(whole))
			}
		}
	}
}

// shard returns the selector of shard i of n.
func shard(field string, i, n uint64) string {
	width := ^uint64(0)/n + 1 // 0 stands for 2^64
	end := "0x10000000000000000"
	if i < n-1 {
		end = fmt.Sprintf("0x%016x", width*(i+1))
	}
	return fmt.Sprintf("shardRange(object.metadata.%s,'0x%016x','%s')", field, width*i, end)
}

func uids(ctx context.Context, s server, path string) (map[string]bool, error) {
	var l list
	err := fetch(ctx, s, path, &l)
	found := map[string]bool{}
	for _, o := range l.Items {
		found[o.Metadata.UID] = true
	}
	return found, err
}

// TestShardNeverPassesToAnApiserverWithoutGate: such an apiserver ignores the selector, so that a
// client which listed a shard would then watch the whole collection.
func TestShardNeverPassesToAnApiserverWithoutGate(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/namespaces/o/configmaps?"
	extended := apiserver.StartSluice(t, harness.SluiceOptions{Config: shardConfig})
	extended.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	half := "shardSelector=" + url.QueryEscape(shard("uid", 0, 2))
	var l struct {
		Metadata struct{ ShardInfo *struct{ Selector string } }
		Items    []object
	}
	for _, state := range []string{"", "&resourceVersion=0"} { // the first is a small read, which passes without shardSelector
		if err := fetch(t.Context(), extended, path+half+state, &l); err != nil || l.Metadata.ShardInfo == nil {
			t.Fatalf("list%s: %+v, %v", state, l.Metadata, err)
		}
	}
	for name, tt := range map[string]struct {
		query  string
		status int
		source string
		shows  string
	}{
		"watch from before the history": {"watch=1&resourceVersion=" + variables.Replace("{old}"), http.StatusOK, "gateway", `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: `},
		"list from before the history":  {"resourceVersionMatch=Exact&resourceVersion=" + variables.Replace("{old}"), http.StatusGone, "gateway", "is too old."},
		"watch from the future":         {"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=" + variables.Replace("{future}"), http.StatusTooManyRequests, "gateway", "storage is"},
		"format":                        {"watch=1&resourceVersion=0&timeoutSeconds=1", http.StatusNotAcceptable, "upstream", ""},
	} {
		t.Run(name, func(t *testing.T) {
			accept := "application/json"
			if name == "format" {
				accept = "application/x"
			}
			a, err := extended.Raw("admin").Get(t.Context(), path+tt.query+"&"+half, accept)
			if err != nil {
				t.Fatal(err)
			}
			source, _, _ := strings.Cut(a.Header.Get("Sluice-Source"), ";")
			if a.Status != tt.status || source != tt.source || !strings.Contains(string(a.Body), tt.shows) {
				t.Errorf("%d from %q: %s", a.Status, source, a.Body)
			}
		})
	}
	t.Run("switched off", func(t *testing.T) {
		a, err := sluice.Raw("admin").Get(t.Context(), path+"resourceVersion=0&"+half, "application/json")
		if err != nil || !strings.HasPrefix(a.Header.Get("Sluice-Source"), "upstream; options") {
			t.Errorf("source is %q, %v", a.Header.Get("Sluice-Source"), err)
		}
	})
}
