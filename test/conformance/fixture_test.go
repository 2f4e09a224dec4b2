package conformance

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"sluice/test/harness"
)

var (
	plane  *harness.ControlPlane
	sluice *harness.Sluice
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if plane, err = harness.StartMain(); err != nil {
		return 0, err
	}
	defer plane.Stop()
	if sluice, err = plane.StartSluiceMain(); err != nil {
		return 0, err
	}
	code = m.Run()
	if err = sluice.Stop(); err != nil || code != 0 {
		fmt.Fprintln(os.Stderr, sluice.Log())
	}
	return code, err
}

// manifests are the objects that the rows read, in order of their creation.
// "default" objects of the apiserver come on top.
var manifests = []struct{ path, body string }{
	{"/api/v1/namespaces", `{"metadata":{"name":"o"}}`},
	{"/api/v1/namespaces", `{"metadata":{"name":"o-b"}}`},
	{"/api/v1/namespaces/o/configmaps", `{"metadata":{"name":"a","labels":{"app":"x"},"annotations":{"html":"<a href=\"x\">&amp;</a>\u2028"}},"data":{"k":"v","umlaut.key":"ü\u0001\t\"quoted\"\\"},"binaryData":{"bin":"AAECAw=="}}`},
	{"/api/v1/namespaces/o/configmaps", `{"metadata":{"name":"b","labels":{"app":"y"}},"immutable":true}`},
	{"/api/v1/namespaces/o-b/configmaps", `{"metadata":{"name":"c"}}`},
	{"/api/v1/namespaces/o/pods", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1500m","memory":"1Gi"},"requests":{"cpu":"0.1"}}}]}}`},
	{"/apis/apps/v1/namespaces/o/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"path":"/","port":"http"}}}]}}}}`},
	{"/apis/batch/v1/namespaces/o/cronjobs", `{"metadata":{"name":"j"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}`},
	{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd("foos", "Foo", "Namespaced")},
	{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd("bars", "Bar", "Cluster")},
	{"/apis/ex.io/v1/namespaces/o/foos", `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"f"},"spec":{"color":"<red>","z":1.0,"a":[1,{"q":null}]}}`},
	{"/apis/ex.io/v1/bars", `{"apiVersion":"ex.io/v1","kind":"Bar","metadata":{"name":"b"},"spec":{"color":"blue"}}`},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/o/roles", `{"metadata":{"name":"see"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["list","watch"]}]}`},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/o/rolebindings", `{"metadata":{"name":"see"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"see"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"reader"}]}`},
}

func crd(plural, kind, scope string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%s.ex.io"},"spec":{"group":"ex.io","scope":"%s","names":{"plural":"%s","kind":"%s","listKind":"%sCollectionList"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`,
		plural, scope, plural, kind, kind)
}

// populate makes the objects, a big ConfigMap collection for compression
// included.
func populate(t *testing.T) {
	t.Helper()
	for _, m := range manifests {
		post(t, m.path, m.body)
	}
	post(t, "/api/v1/namespaces", `{"metadata":{"name":"big"}}`)
	for i := range 20 {
		post(t, "/api/v1/namespaces/big/configmaps", fmt.Sprintf(`{"metadata":{"name":"cm%d"},"data":{"k":"%s"}}`, i, strings.Repeat("text ", 2000)))
	}
}

// post creates an object, trying again while the path is not served yet: a CRD
// takes a moment.
func post(t *testing.T, path, body string) {
	t.Helper()
	harness.Eventually(t, "create in "+path, func() error {
		a, err := plane.Raw("admin").Do(t.Context(), harness.Request{
			Method: http.MethodPost, Path: path, Body: []byte(body), Header: http.Header{"Content-Type": {"application/json"}},
		})
		if err == nil && a.Status != http.StatusCreated {
			err = fmt.Errorf("%d: %s", a.Status, a.Body)
		}
		return err
	})
}

// cached are the resources that the rows expect in the cache.
var cached = []struct{ path, name string }{
	{"/api/v1/configmaps", "configmaps.v1"},
	{"/api/v1/pods", "pods.v1"},
	{"/api/v1/namespaces", "namespaces.v1"},
	{"/api/v1/endpoints", "endpoints.v1"},
	{"/apis/apps/v1/deployments", "deployments.v1.apps"},
	{"/apis/batch/v1/cronjobs", "cronjobs.v1.batch"},
	{"/apis/ex.io/v1/foos", "foos.v1.ex.io"},
	{"/apis/ex.io/v1/bars", "bars.v1.ex.io"},
	{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "customresourcedefinitions.v1.apiextensions.k8s.io"},
	{"/apis/apiregistration.k8s.io/v1/apiservices", "apiservices.v1.apiregistration.k8s.io"},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "clusterroles.v1.rbac.authorization.k8s.io"},
	{"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "flowschemas.v1.flowcontrol.apiserver.k8s.io"},
}

// sync makes Sluice cache the resources, as complete as the apiserver's own
// cache is: the version of the newest object is in both.
func sync(t *testing.T) {
	t.Helper()
	for _, c := range cached {
		sluice.Sync(t, c.path, c.name)
		harness.Eventually(t, c.name+" is equal", func() error {
			return equalLists(t.Context(), c.path)
		})
	}
}

func equalLists(ctx context.Context, path string) error {
	var bodies [2][]byte
	for i, raw := range []*harness.Raw{plane.Raw("admin"), sluice.Raw("admin")} {
		a, err := raw.Get(ctx, path+"?resourceVersion=0", "application/json")
		if err != nil {
			return err
		}
		bodies[i] = steady(a.Body, a.Header)
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		return fmt.Errorf("apiserver has\n%s\nSluice has\n%s", bodies[0], bodies[1])
	}
	return nil
}
