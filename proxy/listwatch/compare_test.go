package listwatch

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/test/support/fake"
)

func TestCompareFindsEveryDifference(t *testing.T) {
	tests := []struct {
		name          string
		first, second []string // the apiserver's pages
		differ        bool
	}{
		{"equal", []string{"a/x@5", "a/y@6"}, []string{"a/z@7"}, false},
		{"an older version", []string{"a/x@5", "a/y@4"}, []string{"a/z@7"}, true},
		{"one more", []string{"a/x@5", "a/y@6"}, []string{"a/z@7", "a/zz@8"}, true},
		{"one less", []string{"a/x@5", "a/y@6"}, nil, true},
		{"none", nil, nil, true},
	}
	for _, tt := range tests {
		for name, r := range fake.Encodings {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					exact := false
					first := func(w http.ResponseWriter, req *http.Request) {
						q := req.URL.Query()
						exact = q.Get("resourceVersion") == "20" && q.Get("resourceVersionMatch") == "Exact"
						r.PageBody("20", "two", tt.first...)(w, req)
					}
					a := fake.New(t, r, script([]step{{"metadata", first}, {"metadata", r.PageBody("20", "", tt.second...)}}))
					u, end := a.Upstream()
					defer end()
					store := cache.New(cache.Options{}, []*tree.Object{
						{Key: "a/x", RV: 5}, {Key: "a/y", RV: 6}, {Key: "a/z", RV: 7},
					}, 20)
					err := New(u, r.GVR, Options{}).Compare(t.Context(), store)
					if errors.Is(err, ErrMismatch) != tt.differ || (err != nil) != tt.differ {
						t.Errorf("got %v", err)
					}
					if !exact {
						t.Error("the list is not of the store's version")
					}
				})
			})
		}
	}
}

func TestCompareNamesTheObjectThatDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fake.ConfigMaps
		a := fake.New(t, r, script([]step{{"metadata", r.PageBody("20", "", "a/x@4")}}))
		u, end := a.Upstream()
		defer end()
		store := cache.New(cache.Options{}, []*tree.Object{{Key: "a/x", RV: 5}}, 20)
		if err := New(u, r.GVR, Options{}).Compare(t.Context(), store); err == nil || !strings.Contains(err.Error(), "a/x at 4") {
			t.Errorf("got %v", err)
		}
	})
}
