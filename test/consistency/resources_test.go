package consistency

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
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

// body returns an object; text makes its revisions differ.
func (r resource) body(name, color, text string) string {
	colored := map[string]any{}
	if color != "" {
		colored["color"] = color
	}
	o := map[string]any{
		"apiVersion": r.apiVersion(), "kind": r.kind,
		"metadata": map[string]any{"name": name, "labels": colored, "annotations": map[string]any{"text": text}},
	}
	switch {
	case r.custom():
		o["spec"] = colored
	case r == configMaps:
		o["data"] = map[string]any{"text": text}
	}
	body, err := json.Marshal(o)
	if err != nil {
		panic(err) // maps of strings always marshal
	}
	return string(body)
}

// define creates the CRD of a custom resource.
func (r resource) define(t *testing.T) {
	t.Helper()
	crd := fmt.Sprintf(`{"metadata":{"name":"%s.%s"},"spec":{"group":"%[2]s","scope":"Namespaced",
		"names":{"plural":"%[1]s","kind":"%[3]s"},"versions":[{"name":"v1","served":true,"storage":true,
		"selectableFields":[{"jsonPath":".spec.color"}],
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
			"color":{"type":"string"}}}}}}}]}}`, r.plural, r.group, r.kind)
	controlPlane.MustHave(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
}
