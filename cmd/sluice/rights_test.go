package main

import (
	"os"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

// get on all resources would include nodes/proxy, by which commands run in every pod.
func TestRightsAreTheLeast(t *testing.T) {
	apiserver := harness.Start(t)
	sluice, err := kubernetes.NewForConfig(apiserver.RESTConfig("sluice"))
	if err != nil {
		t.Fatal(err)
	}
	resource := func(verb, group, resource, subresource, name string) authorizationv1.SelfSubjectAccessReviewSpec {
		return authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name, Namespace: metav1.NamespaceSystem,
		}}
	}
	path := func(p string) authorizationv1.SelfSubjectAccessReviewSpec {
		return authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: p}}
	}
	for _, tt := range []struct {
		name string
		spec authorizationv1.SelfSubjectAccessReviewSpec
		want bool
	}{
		{"list any", resource("list", "example.com", "widgets", "", ""), true},
		{"watch any", resource("watch", "", "pods", "", ""), true},
		{"get a CRD", resource("get", "apiextensions.k8s.io", "customresourcedefinitions", "", "x"), true},
		{"get an APIService", resource("get", "apiregistration.k8s.io", "apiservices", "", "x"), true},
		{"header names", resource("get", "", "configmaps", "", "extension-apiserver-authentication"), true},
		{"token review", resource("create", "authentication.k8s.io", "tokenreviews", "", ""), true},
		{"access review", resource("create", "authorization.k8s.io", "subjectaccessreviews", "", ""), true},
		{"version", path("/version"), true},
		{"discovery", path("/apis/example.com/v1"), true},
		{"node proxy", resource("get", "", "nodes", "proxy", "x"), false},
		{"service proxy", resource("get", "", "services", "proxy", "x"), false},
		{"exec", resource("get", "", "pods", "exec", "x"), false},
		{"logs", resource("get", "", "pods", "log", "x"), false},
		{"another ConfigMap", resource("get", "", "configmaps", "", "x"), false},
		{"create", resource("create", "", "pods", "", ""), false},
		{"delete", resource("delete", "", "pods", "", "x"), false},
		{"escalate", resource("escalate", "rbac.authorization.k8s.io", "clusterroles", "", "x"), false},
		{"logs of the apiserver", path("/logs/"), false},
		{"metrics of the apiserver", path("/metrics"), false},
	} {
		review, err := sluice.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(),
			&authorizationv1.SelfSubjectAccessReview{Spec: tt.spec}, metav1.CreateOptions{})
		if err != nil || review.Status.Allowed != tt.want {
			t.Errorf("%s: allowed %v, want %v: %v", tt.name, review.Status.Allowed, tt.want, err)
		}
	}
	checkFlowSchema(t, apiserver)
}

// checkFlowSchema creates the FlowSchema of docs/security.md.
func checkFlowSchema(t *testing.T, apiserver *harness.ControlPlane) {
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	schema := &flowcontrolv1.FlowSchema{}
	if err := yaml.UnmarshalStrict([]byte(block), schema); err != nil {
		t.Fatal(err)
	}
	admin, err := kubernetes.NewForConfig(apiserver.RESTConfig("admin"))
	if err != nil {
		t.Fatal(err)
	}
	schemas := admin.FlowcontrolV1().FlowSchemas()
	if _, err := schemas.Create(t.Context(), schema, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.FlowcontrolV1().PriorityLevelConfigurations().Get(t.Context(), schema.Spec.PriorityLevelConfiguration.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("the priority level does not exist: %v", err)
	}
}
