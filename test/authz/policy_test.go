package authz

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// oldClient is the user agent that the configuration gives a projection of limit ranges.
const oldClient = "old-client/1.0"

// A caller with a projection by configuration is shown whole objects as soon as it may write them: its update would clear the
// fields that it has not seen.
func TestProjectionByPolicyEndsWithTheRightToWrite(t *testing.T) {
	t.Parallel()
	for _, right := range []string{"update limitranges", "patch limitranges", "update limitranges/status", "patch limitranges/status"} {
		t.Run(right, func(t *testing.T) {
			t.Parallel()
			verb, of, _ := strings.Cut(right, " ")
			ns, nobody := apiserver.Namespace(t), harness.User("nobody")
			createLimitRange(t, ns)
			apiserver.Grant(t, ns, nobody, harness.MayRead("", "limitranges"))
			path := "/api/v1/namespaces/" + ns + "/limitranges"
			awaitShown(t, "nobody", path, oldClient, "annotations")
			awaitShown(t, "nobody", path, "other/1.0", "annotations spec")
			watch := sluice.Raw("nobody").MustOpen(t, harness.Request{
				Path: path + "?watch=1&resourceVersion=0", Header: http.Header{"User-Agent": {oldClient}},
			})
			if !strings.HasPrefix(watch.Header.Get("Sluice-Source"), "cache") {
				t.Fatalf("a watch from %v", watch)
			}
			last := make(chan result, 1)
			go func() { last <- readEvents(watch.Body) }()
			apiserver.Grant(t, ns, nobody, rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{of}})
			awaitShown(t, "nobody", path, oldClient, "annotations spec")
			if got := receive(t, last); got.code != http.StatusGone || got.events != 1 || got.err != nil {
				t.Errorf("the watch ended with %+v", got)
			}
		})
	}
}

// A client has projected objects of all namespaces. Once its user may write objects of one namespace, the client must list again.
// Another program of this user is shown whole objects all the time.
func TestWatchDoesNotGoOnFromAPartOfWhatItsCallerMayWrite(t *testing.T) {
	t.Parallel()
	const who, path = "reader", "/api/v1/limitranges"
	ns := apiserver.Namespace(t)
	createLimitRange(t, ns)
	apiserver.Grant(t, "", harness.User(who), harness.MayRead("", "limitranges"))
	part := awaitShown(t, who, path, oldClient, "annotations")
	whole := awaitShown(t, who, path, "other/1.0", "annotations spec")
	apiserver.Grant(t, ns, harness.User(who), rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{""}, Resources: []string{"limitranges"}})
	shown := awaitShown(t, who, path, oldClient, "annotations spec")
	for _, row := range []struct {
		agent, from string
		want        int
	}{
		{oldClient, part, http.StatusGone}, {oldClient, shown, http.StatusOK}, {"other/1.0", whole, http.StatusOK},
	} {
		sluice.Raw(who).MustOpen(t, harness.Request{
			Path: path + "?watch=1&resourceVersion=" + row.from, Header: http.Header{"User-Agent": {row.agent}},
		}, row.want)
	}
}

// createLimitRange creates an object with an annotation and a spec.
func createLimitRange(t *testing.T, ns string) {
	t.Helper()
	apiserver.MustCreate(t, "/api/v1/namespaces/"+ns+"/limitranges",
		`{"metadata":{"name":"l","annotations":{"at":"1"}},"spec":{"limits":[{"type":"Container","max":{"cpu":"3"}}]}}`)
}

// awaitShown waits until the answer out of the cache for a client has these fields, and says so if it lacks some. It returns the
// version of the list.
func awaitShown(t *testing.T, who, path, agent, want string) (version string) {
	t.Helper()
	harness.Eventually(t, "fields for "+agent, func() error {
		got, err := sluice.Raw(who).Do(t.Context(), harness.Request{
			Path: path + "?resourceVersion=0", Header: http.Header{"User-Agent": {agent}, "Accept": {"application/json"}},
		})
		if err != nil {
			return err
		}
		fields := slices.DeleteFunc([]string{"annotations", "spec"}, func(field string) bool { return !strings.Contains(string(got.Body), `"`+field+`":`) })
		partial := strings.Contains(strings.Join(got.Header["Warning"], " "), "partial")
		shown, source := strings.Join(fields, " "), got.Header.Get("Sluice-Source")
		if shown != want || partial == (want == "annotations spec") || !strings.HasPrefix(source, "cache") {
			return fmt.Errorf("%d from %s: %s, partial %v", got.Status, source, shown, partial)
		}
		var list metav1.PartialObjectMetadataList
		err = json.Unmarshal(got.Body, &list)
		version = list.ResourceVersion
		return err
	})
	return version
}
