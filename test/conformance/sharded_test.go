package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

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
	before, err := synchronize(t.Context(), apiserver, sluice, shardedCollections)
	if err != nil {
		t.Fatal(err)
	}
	writeHistory(t, apiserver)
	now, err := synchronize(t.Context(), apiserver, sluice, shardedCollections)
	if err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("{before}", before, "{now}", now)
	t.Run("rows", func(t *testing.T) { runRows(t, "testdata/sharded.yaml", variables, apiserver, sluice) })
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
	for i, ns := range namespaces {
		writes = append(writes, Write{Path: "/api/v1/namespaces", Object: fmt.Appendf(nil, `{"metadata":{"name":%q}}`, ns)})
		for j := range 12 { // enough for each shard to have some pages
			object := fmt.Appendf(nil, `{"kind":"Foo","apiVersion":"ex.io/v1","metadata":{"name":"c%02d","labels":{"k":"%d"}},"data":{"a":"<%d>"}}`, j, j%2, i)
			writes = append(writes, Write{Path: "/apis/ex.io/v1/namespaces/" + ns + "/foos", Object: object})
			object = []byte(strings.NewReplacer("Foo", "ConfigMap", "ex.io/v1", "v1").Replace(string(object)))
			writes = append(writes, Write{Path: "/api/v1/namespaces/" + ns + "/configmaps", Object: object})
		}
	}
	mustSend(t, apiserver, writes...)
}

// writeHistory writes updates, updates that move objects into and out of selections, and deletes.
func writeHistory(t *testing.T, apiserver server) {
	t.Helper()
	for _, ns := range namespaces {
		for _, in := range []string{"/api/v1/namespaces/%s/configmaps", "/apis/ex.io/v1/namespaces/%s/foos"} {
			path := fmt.Sprintf(in, ns)
			mustSend(t, apiserver,
				Write{http.MethodPatch, path + "/c03", json.RawMessage(`{"data":{"a":"changed"}}`)},
				Write{http.MethodPatch, path + "/c04", json.RawMessage(`{"metadata":{"labels":{"k":"1"}}}`)},
				Write{http.MethodPatch, path + "/c05", json.RawMessage(`{"metadata":{"labels":{"k":"0"}}}`)},
				Write{http.MethodDelete, path + "/c00", nil})
		}
	}
}

// testShardsAreDisjointAndComplete divides each collection into several numbers of shards.
func testShardsAreDisjointAndComplete(t *testing.T, sluice server) {
	for _, c := range shardedCollections {
		whole := uids(t, sluice, c+"?resourceVersion=0")
		for _, n := range []uint64{1, 2, 3, 16} {
			parts := map[string]bool{}
			for i := range n {
				found := uids(t, sluice, c+"?resourceVersion=0&shardSelector="+url.QueryEscape(shard("uid", i, n)))
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

func uids(t *testing.T, s server, path string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, o := range mustList(t, s, path).Items {
		found[o.Metadata.UID] = true
	}
	return found
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
			a := extended.Raw("admin").MustGet(t, path+tt.query+"&"+half, accept)
			source, _, _ := strings.Cut(a.Header.Get("Sluice-Source"), ";")
			if a.Status != tt.status || source != tt.source || !strings.Contains(string(a.Body), tt.shows) {
				t.Errorf("%d from %q: %s", a.Status, source, a.Body)
			}
		})
	}
	t.Run("switched off", func(t *testing.T) {
		a := sluice.Raw("admin").MustGet(t, path+"resourceVersion=0&"+half, "application/json")
		if source := a.Header.Get("Sluice-Source"); !strings.HasPrefix(source, "upstream; options") {
			t.Errorf("source is %q", source)
		}
	})
}
