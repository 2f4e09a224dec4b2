package storage

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sluice/test/harness"
)

// An object may have a value that cannot be written in one format. Reads in this format pass from then
// on, also those of watches that were open, and reads in other formats are served.
func TestFormatThatFailsForAnObjectPasses(t *testing.T) {
	ns := server.Namespace(t)
	path := "/apis/apps/v1/namespaces/" + ns + "/controllerrevisions"
	admin := gateway.Raw("admin")
	cached := func(accept string, names ...string) error {
		r := admin.MustGet(t, path+"?resourceVersion=0", accept)
		from := r.Header.Get("Sluice-Source")
		for _, name := range names {
			if r.Status != http.StatusOK || !strings.Contains(string(r.Body), name) || !strings.HasPrefix(from, "cache") {
				return fmt.Errorf("%d from %s: %q", r.Status, from, r.Body)
			}
		}
		return nil
	}
	create := func(name, data string) {
		t.Helper()
		r := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}, Data: runtime.RawExtension{Raw: []byte(data)}, Revision: 1,
		}
		put(t, "/registry/controllerrevisions/"+ns+"/"+name, stored{name, appsv1.SchemeGroupVersion.WithKind("ControllerRevision"), r})
	}
	create("good", `{"x":1}`)
	gateway.WaitForCacheSync(t, "/apis/apps/v1/controllerrevisions", "controllerrevisions.v1.apps")
	harness.Eventually(t, "the store has the first object", func() error { return cached(inCBOR, "good") })
	watch := admin.MustOpen(t, harness.Request{Path: path + "?watch=1&timeoutSeconds=600&resourceVersion=0", Header: http.Header{"Accept": {inCBOR}}})

	create("bad", `{"x":1e999}`) // a number that is too large for a float
	harness.Eventually(t, "the store has the other object", func() error { return cached(inJSON, "good", "bad") })
	events, err := io.ReadAll(watch.Body)
	for text, want := range map[string]bool{"good": true, "ERROR": true, "bad": false} {
		if err != nil || strings.Contains(string(events), text) != want {
			t.Errorf("the open watch: %v, %q", err, events)
		}
	}
	want, got := server.Raw("admin").MustGet(t, path+"?resourceVersion=0", inCBOR), admin.MustGet(t, path+"?resourceVersion=0", inCBOR)
	if from := got.Header.Get("Sluice-Source"); got.Status != want.Status || !strings.HasPrefix(from, "upstream; format") {
		t.Errorf("%d %q from %s, want %d %q", got.Status, got.Body, from, want.Status, want.Body)
	}
	if err := cached(inJSON, "good", "bad"); err != nil {
		t.Error(err)
	}
}
