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

// serveShards switches shard selectors on.
const serveShards = `
apiVersion: sluice/v1alpha1
kind: Configuration
features: {shardSelector: true}
`

// TestSharded sends lists and watches of shards to an apiserver with the gate
// on, and to Sluice.
func TestSharded(t *testing.T) {
	t.Parallel()
	plane := harness.Start(t, harness.Options{Flags: []string{"--feature-gates=ShardedListAndWatch=true,CBORServingAndStorage=true"}})
	scatter(t, plane)
	sluice := plane.StartSluice(t, harness.SluiceOptions{Config: serveShards})
	words := strings.NewReplacer(settle(t, plane, sluice)...)
	ends := finish(t, plane, sluice)
	var rows []Row
	if err := read("testdata/sharded.yaml", &rows); err != nil {
		t.Fatal(err)
	}
	t.Run("answers", func(t *testing.T) {
		for _, row := range rows {
			for _, one := range row.expand() {
				t.Run(one.Name, func(t *testing.T) {
					t.Parallel()
					one = one.replace(words)
					if one.Until == "{end}" {
						one.Until = lastOf(t, ends, one.Path)
					}
					if one.After == "" {
						one.check(t, plane, sluice)
						return
					}
					for _, s := range []server{plane, sluice} {
						var l list
						if err := fetch(t.Context(), s, one.After, &l); err != nil || l.Metadata.Continue == "" {
							t.Fatalf("%s at %T: %v, continue %q", one.After, s, err, l.Metadata.Continue)
						}
						one.replace(strings.NewReplacer("{continue}", l.Metadata.Continue)).check(t, plane, sluice)
					}
				})
			}
		}
	})
	t.Run("whole", func(t *testing.T) { shardsAreTheWhole(t, sluice) })
}

// scattered are the collections of TestSharded.
var scattered = []string{"/api/v1/configmaps", "/api/v1/namespaces", "/apis/ex.io/v1/foos"}

const fooDefinition = `{"metadata":{"name":"foos.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
	"names":{"plural":"foos","singular":"foo","kind":"Foo","listKind":"FooList"},
	"versions":[{"name":"v1","served":true,"storage":true,
	"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// namespaces have hashes in both halves.
var namespaces = []string{"s0", "s1", "blue", "green", "red"}

// scatter makes objects in some namespaces.
func scatter(t *testing.T, plane server) {
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
		if err := w.sendWhenServed(t.Context(), plane); err != nil {
			t.Fatal(err)
		}
	}
}

// settle makes Sluice cache the collections, and a history: creations, changes
// that move objects in and out of selections, deletions. It returns the words
// {before} and {now} for the versions at which this begins and ends.
func settle(t *testing.T, plane, sluice server) []string {
	t.Helper()
	for _, c := range scattered {
		sluice.(*harness.Sluice).WaitForCacheSync(t, c, resourceName(c))
	}
	before := mark(t, plane, sluice, "before")
	for _, ns := range namespaces {
		for _, in := range []string{"/api/v1/namespaces/%s/configmaps", "/apis/ex.io/v1/namespaces/%s/foos"} {
			path := fmt.Sprintf(in, ns)
			for _, w := range []Write{
				{Method: http.MethodPatch, Path: path + "/c03", Object: json.RawMessage(`{"data":{"a":"changed"}}`)},
				{Method: http.MethodPatch, Path: path + "/c04", Object: json.RawMessage(`{"metadata":{"labels":{"k":"1"}}}`)},
				{Method: http.MethodPatch, Path: path + "/c05", Object: json.RawMessage(`{"metadata":{"labels":{"k":"0"}}}`)},
				{Method: http.MethodDelete, Path: path + "/c00"},
			} {
				if err := w.sendTo(t.Context(), plane); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return []string{"{before}", before, "{now}", mark(t, plane, sluice, "now")}
}

// finish makes objects that end the watches of shards: enough for each to have
// some. It returns them in the order in which they were made.
func finish(t *testing.T, plane, sluice server) (ends []object) {
	t.Helper()
	const enough = 60
	for i := range enough {
		path := "/api/v1/namespaces/" + namespaces[i%len(namespaces)] + "/configmaps"
		name := fmt.Sprintf("end%02d", i)
		if err := (Write{Path: path, Object: fmt.Appendf(nil, `{"metadata":{"name":%q,"labels":{"k":"0"}}}`, name)}).sendTo(t.Context(), plane); err != nil {
			t.Fatal(err)
		}
		var o object
		if err := fetch(t.Context(), plane, path+"/"+name, &o); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, o)
		if i == enough-1 {
			reached(t, plane, sluice, "/api/v1/configmaps", path+"/"+name)
		}
	}
	return ends
}

// lastOf returns what the last event of a shard's watch holds.
func lastOf(t *testing.T, ends []object, path string) string {
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

// mark makes an object in each collection and waits until all caches have it.
// It returns the first one's version, which they all have passed then.
func mark(t *testing.T, plane, sluice server, name string) (first string) {
	t.Helper()
	for _, c := range scattered {
		path := strings.NewReplacer("/configmaps", "/namespaces/s0/configmaps", "/foos", "/namespaces/s0/foos").Replace(c)
		object := fmt.Appendf(nil, `{"metadata":{"name":%q}}`, name)
		if strings.HasSuffix(c, "foos") {
			object = fmt.Appendf(nil, `{"kind":"Foo","apiVersion":"ex.io/v1","metadata":{"name":%q}}`, name)
		}
		if err := (Write{Path: path, Object: object}).sendTo(t.Context(), plane); err != nil {
			t.Fatal(err)
		}
		version := reached(t, plane, sluice, c, path+"/"+name)
		first = cmp.Or(first, version)
	}
	return first
}

// reached waits until both servers' caches of a collection have an object, and
// returns its version.
func reached(t *testing.T, plane, sluice server, collection, path string) (version string) {
	t.Helper()
	var o object
	if err := fetch(t.Context(), plane, path, &o); err != nil {
		t.Fatal(err)
	}
	version = o.Metadata.ResourceVersion
	for _, s := range []server{plane, sluice} {
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

// shardsAreTheWhole takes a collection apart into shards of several sizes.
func shardsAreTheWhole(t *testing.T, sluice server) {
	for _, c := range scattered {
		whole, err := uids(t.Context(), sluice, c+"?resourceVersion=0")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []uint64{1, 2, 3, 16} {
			parts := map[string]bool{}
			for i := range n {
				some, err := uids(t.Context(), sluice, c+"?resourceVersion=0&shardSelector="+url.QueryEscape(shard("uid", i, n)))
				if err != nil {
					t.Fatal(err)
				}
				for uid := range some {
					if parts[uid] {
						t.Errorf("%s: %s is in two of %d shards", c, uid, n)
					}
					parts[uid] = true
				}
				if n == 2 && (len(some) == 0 || len(some) == len(whole)) {
					t.Errorf("%s: a half holds %d of %d", c, len(some), len(whole))
				}
			}
			if !maps.Equal(parts, whole) {
				t.Errorf("%s: %d shards hold %d of %d objects", c, n, len(parts), len(whole))
			}
		}
	}
}

// shard is the selector of the i-th of n shards.
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

// TestShardedWithoutGate serves shards before an apiserver that knows nothing
// of them. What was a shard in the list must not become all there is later on.
func TestShardedWithoutGate(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/namespaces/o/configmaps?"
	own := plane.StartSluice(t, harness.SluiceOptions{Config: serveShards})
	own.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	half := "shardSelector=" + url.QueryEscape(shard("uid", 0, 2))
	var l struct {
		Metadata struct{ ShardInfo *struct{ Selector string } }
		Items    []object
	}
	for _, state := range []string{"", "&resourceVersion=0"} { // the first is small, but never delegated
		if err := fetch(t.Context(), own, path+half+state, &l); err != nil || l.Metadata.ShardInfo == nil {
			t.Fatalf("list%s: %+v, %v", state, l.Metadata, err)
		}
	}
	for name, tt := range map[string]struct {
		query  string
		status int
		source string
		shows  string
	}{
		"watch from before the history": {"watch=1&resourceVersion=" + words.Replace("{old}"), http.StatusOK, "gateway", `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: `},
		"list from before the history":  {"resourceVersionMatch=Exact&resourceVersion=" + words.Replace("{old}"), http.StatusGone, "gateway", "is too old."},
		"watch from the future":         {"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=" + words.Replace("{future}"), http.StatusTooManyRequests, "gateway", "storage is"},
		"format":                        {"watch=1&resourceVersion=0&timeoutSeconds=1", http.StatusNotAcceptable, "upstream", ""},
	} {
		t.Run(name, func(t *testing.T) {
			accept := "application/json"
			if name == "format" {
				accept = "application/x"
			}
			a, err := own.Raw("admin").Get(t.Context(), path+tt.query+"&"+half, accept)
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
			t.Errorf("answered from %q, %v", a.Header.Get("Sluice-Source"), err)
		}
	})
}
