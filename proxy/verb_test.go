package proxy

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	apimetrics "k8s.io/apiserver/pkg/endpoints/metrics"

	"sluice/proxy/request"
)

// Dashboards of the apiserver find the same values at Sluice.
func TestVerbIsTheOneOfTheApiserversMetrics(t *testing.T) {
	const pods, pod = "/api/v1/namespaces/ns/pods", "/api/v1/namespaces/ns/pods/p"
	for _, tt := range []struct{ method, target, contentType, want string }{
		{"GET", pods, "", "LIST"}, {"GET", "/api/v1/pods?watch=1", "", "WATCH"}, {"GET", pods + "?watch=0", "", "LIST"},
		{"GET", pod, "", "GET"}, {"HEAD", pod, "", "GET"}, {"GET", "/version", "", "GET"},
		{"POST", pods, "", "POST"}, {"PUT", pod + "/status", "", "PUT"}, {"DELETE", pod, "", "DELETE"},
		{"PATCH", pod, "application/merge-patch+json", "PATCH"}, {"PATCH", pod, "application/apply-patch+yaml", "APPLY"},
		{"POST", pod + "/exec", "", "CONNECT"}, {"GET", pod + "/log", "", "CONNECT"}, {"GET", pod + "/proxy/x", "", "CONNECT"},
	} {
		r := httptest.NewRequest(tt.method, tt.target, nil)
		r.Header.Set("Content-Type", tt.contentType)
		info, err := request.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		theirs := apimetrics.CleanVerb(apimetrics.CanonicalVerb(r.Method, scopeOf(info)), r, info.RequestInfo)
		if got := verbOf(r, info); got != tt.want || got != theirs {
			t.Errorf("%s %s: %s, want %s; the apiserver counts %s", tt.method, tt.target, got, tt.want, theirs)
		}
	}
	for target, want := range map[string]string{"DELETE " + pods: "DELETECOLLECTION", "BREW /pot": other} {
		method, path, _ := strings.Cut(target, " ")
		r := httptest.NewRequest(method, path, nil)
		info, _ := request.Parse(r)
		if got := verbOf(r, info); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

// An extension server may accept any name. The library of metrics panics on labels that are not UTF-8.
func TestNamesThatAreNotUTF8AreNoLabels(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	for _, target := range []string{"/apis/ex.io/v1/%ff", "/apis/ex.io/%ff/foos", "/apis/%ff/v1/foos", "/api/v1/namespaces/ns/pods/p/%ff"} {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		info, err := request.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		info.Outcome.Source = request.SourceUpstream
		m.begin(info)
		m.wrote(r, info, http.StatusOK, 1, 1)
		m.end(r, info, http.StatusOK, 0)
	}
}
