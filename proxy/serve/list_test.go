package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/proxy/request"
	"sluice/proxy/resources"
)

// open is a Resources with one resource and an Access that allows everything.
type open struct{ collection *resources.CachedResource }

func (o open) Lookup(schema.GroupVersionResource) (*resources.CachedResource, string) {
	return o.collection, ""
}
func (open) Allowed(*http.Request) bool               { return true }
func (open) StillAllowed(*http.Request) (bool, error) { return true, nil }

// A list that holds what cannot be written is passed as long as nothing of it
// has been sent, and nothing is left of the answer that was begun; later it is
// cut.
func TestListThatCannotBeWritten(t *testing.T) {
	for _, row := range []struct {
		objects, bad int
		coding       string
		cut          bool
	}{
		{10, 5, "", false},
		{2000, 5, "gzip", false},
		{2000, 5, "zstd", false},
		{30_000, 29_999, "gzip", true},
		{30_000, 29_999, "zstd", true},
		{5000, 4999, "", true},
	} {
		t.Run(fmt.Sprintf("%d of %d %s", row.bad, row.objects, row.coding), func(t *testing.T) {
			passed := false
			next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if passed = true; len(w.Header()) > 0 {
					t.Errorf("headers are left: %v", w.Header())
				}
			})
			c := foos(row.objects)
			broken := foo(row.bad, uint64(row.objects+1))
			broken.Data = []byte(`{"metadata":`)
			if err := c.Store.Apply(cache.Modified, broken, time.Now()); err != nil {
				t.Fatal(err)
			}
			o := open{c}
			reads := New(Options{Resources: o, Access: o, Next: next, Encoded: cache.NewBudget(1 << 30)})
			r := httptest.NewRequest(http.MethodGet, "/apis/ex.io/v1/foos?resourceVersion=0", nil)
			r.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
			r.Header.Set("Accept-Encoding", row.coding)
			info, err := request.Parse(r)
			if err != nil {
				t.Fatal(err)
			}
			info.Caller = request.BearerToken
			w := httptest.NewRecorder()
			defer func() {
				if cut := recover() != nil; cut != row.cut || passed == row.cut {
					t.Errorf("cut: %v, passed: %v, %d", cut, passed, w.Code)
				}
			}()
			reads.ServeHTTP(w, r.WithContext(request.With(r.Context(), info)))
		})
	}
}
