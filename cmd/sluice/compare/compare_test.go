package compare

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/proxy/request"
)

// serve serves lists of resources by what a function says of the names of their objects at each look, beginning with 1. A list
// of nil is forbidden, and the list of "silent" is never answered.
func serve(t *testing.T, asOf string, names func(resource string, look int) []string) *rest.Config {
	t.Helper()
	looks := map[string]*atomic.Int32{"a": {}, "b": {}, "silent": {}}
	ctx, end := context.WithCancel(context.Background())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resource := strings.TrimPrefix(r.URL.Path, "/api/v1/")
		switch {
		case r.URL.Path == "/api":
			fmt.Fprint(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"versions":[{"version":"v1","resources":[`+
				`{"resource":"a","verbs":["list"]},{"resource":"b","verbs":["list"]},{"resource":"silent","verbs":["list"]}]}]}]}`)
		case r.URL.Path == "/apis":
			fmt.Fprint(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[`+
				`{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"deployments","singularResource":"deployment",`+
				`"shortNames":["deploy"],"verbs":["list","watch"]}]},{"version":"v1beta1","resources":[{"resource":"deployments","verbs":["list","watch"]}]}]},`+
				`{"metadata":{"name":"late.io"},"versions":[{"version":"v2","resources":[{"resource":"deployments","verbs":["list"]}]}]}]}`)
		case resource == "silent":
			select {
			case <-r.Context().Done():
			case <-ctx.Done():
			}
		default:
			all := names(resource, int(looks[resource].Add(1)))
			if all == nil {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			if asOf != "" {
				w.Header().Set(request.AsOfHeader, asOf)
			}
			for i, name := range all {
				all[i] = `{"metadata":{"name":"` + name + `","resourceVersion":"5"}}`
			}
			fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7"},"items":[%s]}`, strings.Join(all, ","))
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(end)
	return &rest.Config{Host: s.URL}
}

func always(text string) func(string, int) []string {
	return func(string, int) []string { return strings.Fields(text) }
}

func run(t *testing.T, sluice, apiserver func(string, int) []string, names ...string) (string, error) {
	t.Helper()
	v, err := Run(t.Context(), Options{Sluice: serve(t, "7; age=0.1", sluice), Apiserver: serve(t, "", apiserver)}, names)
	var out strings.Builder
	for _, r := range v.Items {
		fmt.Fprint(&out, r.Resource, " ", r.Objects, " of")
		for _, all := range [][]Difference{r.Missing, r.Extra, r.Different} {
			fmt.Fprint(&out, " [")
			for _, d := range all {
				fmt.Fprint(&out, d.Name)
			}
			fmt.Fprint(&out, "]")
		}
		fmt.Fprint(&out, ";")
	}
	return out.String(), err
}

// TestDifferencesRemainIfOthersCannotBeCompared: one without the right. An unknown resource is misuse: none is compared.
func TestDifferencesRemainIfOthersCannotBeCompared(t *testing.T) {
	sluice := func(resource string, _ int) []string { return map[string][]string{"a": {"x"}}[resource] }
	got, err := run(t, sluice, always("x y"), "b", "a")
	if got != "a.v1 2 of [y] [] [];" || err == nil || !strings.Contains(err.Error(), "b.v1") {
		t.Errorf("%s %v", got, err)
	}
	if got, err := run(t, sluice, always("x y"), "unicorns", "a"); got != "" || err == nil || !strings.Contains(err.Error(), "unicorns") {
		t.Errorf("%s %v", got, err)
	}
}

// TestSilentServersEndALook: each of the two.
func TestSilentServersEndALook(t *testing.T) {
	o := Options{Sluice: serve(t, "7; age=0.1", nil), Apiserver: serve(t, "", always("x")), Silence: 200 * time.Millisecond}
	for _, cfg := range []*rest.Config{o.Sluice, o.Apiserver} {
		e, err := newEndpoint(cfg)
		if err != nil {
			t.Fatal(err)
		}
		e.silence = o.Silence
		if _, err := e.list(t.Context(), "/api/v1/silent", nil, nil); err == nil || !strings.Contains(err.Error(), "silent for") {
			t.Errorf("%v", err)
		}
	}
}

func TestResourcesAreFoundByTheNamesOfKubectl(t *testing.T) {
	cfg := serve(t, "", nil)
	all, err := discover(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a": "/v1, Resource=a", "deploy": "apps/v1, Resource=deployments", "Deployment": "apps/v1, Resource=deployments",
		"deployments.apps": "apps/v1, Resource=deployments", "deployments.v1beta1.apps": "apps/v1beta1, Resource=deployments",
		"deployments.late.io": "late.io/v2, Resource=deployments", "unicorns": "", "deployments.v3.apps": "",
	} {
		got, err := find(all, name)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestObjectsThatAreListedTwiceAreExtra(t *testing.T) {
	if got, err := run(t, always("x y x"), always("x y"), "a"); err != nil || got != "a.v1 2 of [] [x] [];" {
		t.Errorf("%s %v", got, err)
	}
	if got, err := run(t, always("x y"), always("x y x"), "a"); err != nil || got != "a.v1 2 of [] [] [];" {
		t.Errorf("at the apiserver: %s %v", got, err)
	}
}

// TestOnlyObjectsThatDifferTwiceDiffer: others may be gone from one of the lists.
func TestOnlyObjectsThatDifferTwiceDiffer(t *testing.T) {
	looks := func(texts ...string) func(string, int) []string {
		return func(_ string, look int) []string { return strings.Fields(texts[min(look, len(texts))-1]) }
	}
	if got, err := run(t, looks("x", "y"), always("x y z"), "a"); err != nil || got != "a.v1 3 of [z] [] [];" {
		t.Errorf("%s %v", got, err)
	}
	if got, err := run(t, looks("x", "y"), always("x y"), "a"); err == nil || !strings.Contains(err.Error(), "other objects differ") {
		t.Errorf("none differs twice: %s %v", got, err)
	}
}
