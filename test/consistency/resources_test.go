package consistency

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"sluice/test/harness"
)

// resource is a resource of the test.
type resource struct {
	group, version, plural, kind string
}

var (
	configMaps      = resource{"", "v1", "configmaps", "ConfigMap"}
	serviceAccounts = resource{"", "v1", "serviceaccounts", "ServiceAccount"}
	beats           = resource{customGroup, "v1", "beats", "Beat"}
	stills          = resource{customGroup, "v1", "stills", "Still"}
	reports         = resource{customGroup, "v1", "reports", "Report"} // without watch cache at the apiserver
)

const customGroup = "consistency.example.com"

// custom reports whether the resource has a CRD.
func (r resource) custom() bool { return r.group != "" }

func (r resource) apiVersion() string {
	return strings.TrimPrefix(r.group+"/"+r.version, "/")
}

// report returns the name of the resource in Sluice's readiness report.
func (r resource) report() string {
	return strings.TrimSuffix(r.plural+"."+r.version+"."+r.group, ".")
}

// path returns the path of the resource, of the resource in one namespace, or of one object.
func (r resource) path(namespace, name string) string {
	path := "/apis/" + r.apiVersion()
	if !r.custom() {
		path = "/api/" + r.version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return strings.TrimSuffix(path+"/"+r.plural+"/"+name, "/")
}

// colors are the values of the label and the field that selectors use. An object with color "" has
// neither.
var colors = []string{"red", "green", "blue", ""}

// body returns an object; number makes its revisions differ.
func (r resource) body(name, color string, number int) []byte {
	colored := map[string]any{}
	if color != "" {
		colored["color"] = color
	}
	return r.encode(name, colored, number, 0)
}

// padded returns an object of a custom resource with padding more bytes.
func (r resource) padded(name, color string, padding int) []byte {
	return r.encode(name, map[string]any{"color": color}, 0, padding)
}

// patch returns a merge patch with the same result as body.
func (r resource) patch(name, color string, number int) []byte {
	colored := map[string]any{"color": color}
	if color == "" {
		colored["color"] = nil
	}
	return r.encode(name, colored, number, 0)
}

func (r resource) encode(name string, colored map[string]any, number, padding int) []byte {
	o := map[string]any{
		"apiVersion": r.apiVersion(), "kind": r.kind,
		"metadata": map[string]any{
			"name": name, "labels": colored, "annotations": map[string]any{"number": fmt.Sprint(number)},
		},
	}
	spec := maps.Clone(colored)
	if padding > 0 {
		spec["padding"] = strings.Repeat("x", padding)
	}
	switch {
	case r.custom():
		o["spec"] = spec
	case r == configMaps:
		o["data"] = map[string]any{"number": fmt.Sprint(number)}
	}
	body, err := json.Marshal(o)
	if err != nil {
		panic(err) // maps of strings always marshal
	}
	return body
}

// definition returns the CRD of a custom resource.
func (r resource) definition() []byte {
	return fmt.Appendf(nil, `{"metadata":{"name":"%s.%s"},"spec":{"group":"%[2]s","scope":"Namespaced",
		"names":{"plural":"%[1]s","kind":"%[3]s"},"versions":[{"name":"v1","served":true,"storage":true,
		"selectableFields":[{"jsonPath":".spec.color"}],
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
			"color":{"type":"string"},"padding":{"type":"string"}}}}}}}]}}`, r.plural, r.group, r.kind)
}

// define creates the CRD and waits until the apiserver serves it.
func (r resource) define(t *testing.T) {
	t.Helper()
	admin := controlPlane.Raw("admin")
	harness.Eventually(t, r.plural+" are served", func() error {
		if _, err := admin.Do(t.Context(), jsonRequest(http.MethodPost, crds, r.definition())); err != nil {
			return err
		}
		return expect(t.Context(), admin, harness.Request{Path: r.path("", "")}, http.StatusOK)
	})
}

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

func jsonRequest(method, path string, body []byte) harness.Request {
	return harness.Request{Method: method, Path: path, Body: body, Header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json"},
	}}
}

// expect sends a request and returns an error unless the response has the status code.
func expect(ctx context.Context, raw *harness.RawClient, q harness.Request, status int) error {
	a, err := raw.Do(ctx, q)
	if err == nil && a.Status != status {
		err = fmt.Errorf("%s %s: %d %s", q.Method, q.Path, a.Status, a.Body)
	}
	return err
}
