package resources

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"sluice/codec"
	"sluice/proxy/upstream"
	"sluice/test/support/fake"
	"sluice/test/support/proxytest"
)

// kinds is an apiserver with any number of custom resources.
type kinds struct {
	objects func(resource string) int
	filled  atomic.Int64 // streaming lists
}

// kind returns one of the resources, of which a group has ten.
func kind(i int) fake.Resource {
	gvr := schema.GroupVersionResource{Group: fmt.Sprintf("group%d.example.com", i/10), Version: "v1", Resource: fmt.Sprint("kind", i%10)}
	return fake.Resource{GVR: gvr, Kind: "Kind"}
}

// ServeHTTP implements http.Handler.
func (k *kinds) ServeHTTP(w http.ResponseWriter, r *http.Request) { k.respond(r)(w, r) }

func (k *kinds) respond(r *http.Request) http.HandlerFunc {
	accept, query := r.Header.Get("Accept"), r.URL.Query()
	d := kind(0)
	group, resource, served := strings.Cut(strings.TrimPrefix(r.URL.Path, "/apis/"), "/v1")
	d.GVR.Group, d.GVR.Resource = group, strings.TrimPrefix(resource, "/")
	switch {
	case !served || !strings.HasPrefix(group, "group") || len(group) > len("group99.example.com"):
		return fake.Refuse(http.StatusNotFound) // there are neither CRDs nor an aggregator, and no more than 1,000 kinds
	case resource == "":
		var list []string
		for i := range 10 {
			list = append(list, fmt.Sprintf(`{"name":"kind%d","kind":"Kind","verbs":["list","watch"]}`, i))
		}
		return fake.Body(codec.MediaJSON, fmt.Appendf(nil, `{"resources":[%s]}`, strings.Join(list, ",")))
	case strings.Contains(accept, "as=Table"):
		return fake.Refuse(http.StatusNotAcceptable)
	case strings.Contains(accept, "as=Partial") && !query.Has("watch"):
		return d.PageBody("20000", "", k.names(d)...)
	case query.Has("sendInitialEvents") && query.Has("fieldSelector"): // whether it is compressed
		return d.Stream()
	case query.Has("sendInitialEvents"):
		k.filled.Add(1)
		var events [][]byte
		for _, name := range k.names(d) {
			events = append(events, d.Added(name))
		}
		return d.Stream(append(events, d.InitialEventsEnd("10000"))...)
	case query.Has("watch"):
		return d.Stream()
	}
	return fake.Body(codec.MediaJSON, d.FirstList())
}

// names returns the names and versions of the objects of a resource, in the order of a list.
func (k *kinds) names(d fake.Resource) (names []string) {
	for i := range k.objects(d.GVR.Resource) {
		names = append(names, fmt.Sprintf("object%05d@%d", i, i+1))
	}
	return names
}

// before runs a test with a Registry and the apiserver.
func (k *kinds) before(t *testing.T, limit int64, test func(t *testing.T, r *Registry)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := proxytest.Serve(k)
		defer server.Close(t)
		u, err := upstream.New(upstream.Options{Config: &rest.Config{Host: "http://apiserver", Dial: server.Dial}})
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		r := New(Options{Upstream: u, Limits: Limits{Bytes: limit, Idle: time.Hour}, CheckEvery: 1000 * time.Hour, Log: zap.NewNop()})
		running(t, r, func() { test(t, r) })
	})
}

// served looks up kinds and counts those that are in sync.
func served(r *Registry, user string, from, to int) (n int) {
	for i := from; i < to; i++ {
		if c, _ := r.Lookup(kind(i).GVR, user); c != nil {
			n++
		}
	}
	return n
}

func few(string) int { return 3 }

// Controllers such as those of Argo CD and Crossplane watch every kind that there is.
func TestAllKindsThatOneReaderReadsAreServed(t *testing.T) {
	const all = 300
	(&kinds{objects: few}).before(t, 64<<20, func(t *testing.T, r *Registry) {
		served(r, "alice", 0, all)
		pass(time.Second)
		if n := served(r, "alice", 0, all); n != all {
			t.Errorf("%d kinds of %d are served", n, all)
		}
	})
}

// Somebody who reads every kind has all cached that there is room for, but stops no store that others use, and those that
// found no room are not filled again and again.
func TestReaderOfAllKindsStopsNoStoreThatOthersUse(t *testing.T) {
	const stores, kindsOfCarol = 20, 100
	k := &kinds{objects: few}
	k.before(t, (stores+5)*(storeOverhead+10<<10), func(t *testing.T, r *Registry) {
		served(r, "alice", 0, stores)
		pass(time.Second)
		for range 120 {
			served(r, "carol", stores, stores+kindsOfCarol)
			pass(unusedAfter / 2)
			if n := served(r, "alice", 0, stores); n != stores {
				t.Fatalf("%d stores of %d are left", n, stores)
			}
		}
		if n := served(r, "carol", stores, stores+kindsOfCarol); n == 0 || n > 6 {
			t.Errorf("%d of carol's stores are served", n)
		}
		if n := k.filled.Load(); n > stores+10 {
			t.Errorf("%d fills", n)
		}
		pass(unusedAfter)
		served(r, "bob", stores+kindsOfCarol, stores+kindsOfCarol+3)
		pass(time.Second)
		if n := served(r, "bob", stores+kindsOfCarol, stores+kindsOfCarol+3); n != 3 {
			t.Errorf("%d stores are served once others are unused", n)
		}
	})
}

// How much a fill will take is not known before it ends, if at all.
func TestFillThatExceedsTheRoomIsGivenUp(t *testing.T) {
	const huge = 7
	k := &kinds{objects: func(resource string) int {
		if resource == kind(huge).GVR.Resource {
			return 10_000
		}
		return 3
	}}
	k.before(t, 2<<20, func(t *testing.T, r *Registry) {
		served(r, "alice", 0, huge)
		pass(time.Second)
		_, _ = r.Lookup(kind(huge).GVR, "alice")
		pass(time.Second)
		if _, reason := r.Lookup(kind(huge).GVR, "alice"); reason != StoresTooLarge {
			t.Errorf("the huge store: %q", reason)
		}
		if n := served(r, "alice", 0, huge); n != huge {
			t.Errorf("%d stores of %d are left", n, huge)
		}
		if used := r.room.total(); used > 2<<20 {
			t.Errorf("%d bytes are used", used)
		}
		for range 60 {
			_, _ = r.Lookup(kind(huge).GVR, "alice")
			pass(time.Minute)
		}
		if n := k.filled.Load(); n > huge+7 { // one in tooLargeFor
			t.Errorf("%d fills", n)
		}
	})
}

// proceeds waits until progress changes, and reports whether it has.
func proceeds(p Progress) bool {
	select {
	case <-p.Changed:
		return true
	case <-time.After(2 * tooLargeFor):
		return false
	}
}

// Readers that wait for a store learn why there is none to come, as soon as that is known.
func TestReadersAreWokenWhenAResourceIsNotCacheable(t *testing.T) {
	const absent = 1000
	(&kinds{objects: few}).before(t, 0, func(t *testing.T, r *Registry) {
		var waiting sync.WaitGroup
		for i := absent; i < absent+200; i++ {
			waiting.Go(func() {
				_, _ = r.Lookup(kind(i).GVR, "alice")
				if p := r.Progress(kind(i).GVR); p.Changed != nil && !proceeds(p) {
					t.Error("nothing changes")
				}
				if _, reason := r.Lookup(kind(i).GVR, "alice"); reason != NotCacheable {
					t.Errorf("%q after the change", reason)
				}
			})
		}
		waiting.Wait()
	})
}

func TestReadersAreWokenWhenAStoreIsGivenUp(t *testing.T) {
	(&kinds{objects: func(string) int { return 10_000 }}).before(t, 2<<20, func(t *testing.T, r *Registry) {
		_, _ = r.Lookup(kind(0).GVR, "alice")
		for p := r.Progress(kind(0).GVR); p.Changed != nil; p = r.Progress(kind(0).GVR) {
			if !proceeds(p) {
				t.Fatal("nothing changes")
			}
		}
	})
}
