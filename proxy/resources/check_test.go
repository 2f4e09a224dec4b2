package resources

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"sluice/cache"
	"sluice/proxy/upstream"
)

// listing is an upstream that answers lists of metadata in pages of two.
type listing struct {
	items []string // name@version
	asked []string // queries
}

func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.asked = append(l.asked, r.URL.RawQuery)
	from := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &from)
	var items []string
	for _, item := range l.items[from:min(from+2, len(l.items))] {
		name, version, _ := strings.Cut(item, "@")
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"a","resourceVersion":%q}}`, name, version))
	}
	next := ""
	if from+2 < len(l.items) {
		next = fmt.Sprint(from + 2)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"metadata":{"resourceVersion":"20","continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name   string
		there  []string
		differ bool
	}{
		{"equal", []string{"x@5", "y@6", "z@7"}, false},
		{"an older version", []string{"x@5", "y@4", "z@7"}, true},
		{"one more", []string{"x@5", "y@6", "z@7", "zz@8"}, true},
		{"one less", []string{"x@5", "y@6"}, true},
		{"none", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			there := &listing{items: tt.there}
			server := httptest.NewServer(there)
			defer server.Close()
			u, err := upstream.New(upstream.Options{Config: &rest.Config{Host: server.URL}})
			if err != nil {
				t.Fatal(err)
			}
			defer u.Close()
			store := cache.New(cache.Options{}, []*cache.Object{
				{Key: "a/x", RV: 5}, {Key: "a/y", RV: 6}, {Key: "a/z", RV: 7},
			}, 20)
			src := &source{upstream: u, gvr: schema.GroupVersionResource{Version: "v1", Resource: "things"}}
			if err := src.compare(t.Context(), store); errors.Is(err, errMismatch) != tt.differ || (err != nil) != tt.differ {
				t.Errorf("got %v", err)
			}
			if q := there.asked[0]; !strings.Contains(q, "resourceVersion=20") || !strings.Contains(q, "resourceVersionMatch=Exact") {
				t.Errorf("asked for %q", q)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name    string
		limits  Limits
		entries map[string]heldStore
		stopped []string
	}{
		{"nothing to do", Limits{}, map[string]heldStore{"a": {objects: 10}}, nil},
		{"idle", Limits{Idle: time.Minute}, map[string]heldStore{"a": {idle: 2 * time.Minute}, "b": {}}, []string{"a"}},
		{"idle but watched", Limits{Idle: time.Minute}, map[string]heldStore{"a": {idle: 2 * time.Minute, watched: true}}, nil},
		{"too large: what was not used for longest goes", Limits{Bytes: 30_000}, map[string]heldStore{
			"a": {objects: 10, idle: time.Second}, "b": {objects: 10, idle: time.Minute}, "c": {objects: 10},
		}, []string{"b"}},
		{"too large: what is watched goes last", Limits{Bytes: 20_000}, map[string]heldStore{
			"a": {objects: 10, idle: time.Minute, watched: true}, "b": {objects: 10},
		}, []string{"b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := New(Options{Limits: tt.limits, Log: zap.NewNop()})
			ended := map[string]bool{}
			for name, held := range tt.entries {
				m.entries[schema.GroupVersionResource{Resource: name}] = held.entry(t, name, now, func() { ended[name] = true })
			}
			m.keep(now)
			for name := range tt.entries {
				want := false
				for _, s := range tt.stopped {
					want = want || s == name
				}
				if ended[name] != want {
					t.Errorf("%s stopped: %v", name, ended[name])
				}
			}
		})
	}
}

// heldStore describes an entry: objects of 1,000 bytes each.
type heldStore struct {
	objects int
	idle    time.Duration
	watched bool
}

func (h heldStore) entry(t *testing.T, name string, now time.Time, stop context.CancelFunc) *entry {
	t.Helper()
	var objects []*cache.Object
	for i := range h.objects {
		objects = append(objects, &cache.Object{Key: cache.Key(fmt.Sprintf("k%02d", i)), RV: 1, Data: make([]byte, 1000)})
	}
	store := cache.New(cache.Options{}, objects, 10)
	if h.watched {
		cursor, err := store.Watch(cache.Scope{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cursor.Close)
	}
	e := &entry{resource: schema.GroupVersionResource{Resource: name}, stop: stop}
	e.used.Store(now.Add(-h.idle).UnixNano())
	e.collection.Store(&CachedResource{Store: store})
	return e
}
