package authz

import (
	"bytes"
	"net/http"
	"testing"

	"sluice/test/harness"
)

const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"namespaces.authz.example.com"},
"spec":{"group":"authz.example.com","scope":"Namespaced","names":{"plural":"namespaces","singular":"ns","kind":"Ns","listKind":"NsList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// In a path of such a resource the apiserver's parser takes a name for a namespace. Rights in namespace
// a must not show the objects named a of all namespaces (class of CVE-2019-11247).
func TestResourceCalledNamespacesIsReadInItsNamespace(t *testing.T) {
	t.Parallel()
	const group = "/apis/authz.example.com/v1"
	apiserver.MustHave(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
	for _, ns := range []string{"a", "b"} {
		apiserver.MustHave(t, group+"/namespaces/"+ns+"/namespaces",
			`{"apiVersion":"authz.example.com/v1","kind":"Ns","metadata":{"name":"a"},"of":"`+ns+`"}`)
	}
	apiserver.Grant(t, "a", harness.User("nobody"), harness.MayRead("authz.example.com", "namespaces"))
	sluice.WaitForCacheSync(t, group+"/namespaces", "namespaces.v1.authz.example.com")
	apiserver.Raw("nobody").AwaitStatus(t, http.StatusOK, harness.Request{Path: group + "/namespaces/a/namespaces"})
	for _, path := range []string{
		"/watch/namespaces/a?timeoutSeconds=1&resourceVersion=0", "/namespaces/a?resourceVersion=0", "/namespaces/a/namespaces/a?resourceVersion=0",
		"/namespaces/a/namespaces?resourceVersion=0", "/namespaces?resourceVersion=0", "/namespaces/b/namespaces?resourceVersion=0",
	} {
		path = group + path
		want, got := apiserver.Raw("nobody").MustGet(t, path, "application/json"), sluice.Raw("nobody").MustGet(t, path, "application/json")
		if got.Status != want.Status {
			t.Errorf("%s: %d, want %d", path, got.Status, want.Status)
		}
		if bytes.Contains(got.Body, []byte(`"of":"b"`)) != bytes.Contains(want.Body, []byte(`"of":"b"`)) {
			t.Errorf("%s shows %s, want %s", path, got.Body, want.Body)
		}
	}
}
