package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

// get on all resources would include nodes/proxy, by which commands run in every pod.
func TestRightsAreTheLeast(t *testing.T) {
	apiserver := harness.Start(t)
	admin, err := kubernetes.NewForConfig(apiserver.RESTConfig("admin"))
	if err != nil {
		t.Fatal(err)
	}
	bindDocumentedRole(t, admin)
	resource := func(verb, group, resource, subresource, name string) authorizationv1.SubjectAccessReviewSpec {
		return authorizationv1.SubjectAccessReviewSpec{User: leastUser, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name, Namespace: metav1.NamespaceSystem,
		}}
	}
	path := func(p string) authorizationv1.SubjectAccessReviewSpec {
		return authorizationv1.SubjectAccessReviewSpec{User: leastUser, NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: p}}
	}
	for _, tt := range []struct {
		name string
		spec authorizationv1.SubjectAccessReviewSpec
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
		harness.Eventually(t, tt.name, func() error { // the authorizer follows the role by a watch
			review, err := admin.AuthorizationV1().SubjectAccessReviews().Create(t.Context(),
				&authorizationv1.SubjectAccessReview{Spec: tt.spec}, metav1.CreateOptions{})
			if err == nil && review.Status.Allowed != tt.want {
				err = fmt.Errorf("allowed %v, want %v", review.Status.Allowed, tt.want)
			}
			return err
		})
	}
	checkFlowSchema(t, admin)
}

// leastUser has the rights of docs/operating.md.
const leastUser = "least"

// bindDocumentedRole binds the ClusterRole of docs/operating.md to leastUser.
func bindDocumentedRole(t *testing.T, admin kubernetes.Interface) {
	role := &rbacv1.ClusterRole{}
	document(t, "operating.md", "## Rights", role)
	role.Name = leastUser
	if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: leastUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: leastUser},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: leastUser}},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// document decodes the first block of YAML after a heading of a document.
func document(t *testing.T, name, heading string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "\n"+heading+"\n")
	_, block, _ = strings.Cut(block, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	if err := yaml.UnmarshalStrict([]byte(block), into); err != nil {
		t.Fatal(err)
	}
}

// checkFlowSchema creates the FlowSchema of docs/security.md.
func checkFlowSchema(t *testing.T, admin kubernetes.Interface) {
	schema := &flowcontrolv1.FlowSchema{}
	document(t, "security.md", "## Priority at the apiserver", schema)
	schemas := admin.FlowcontrolV1().FlowSchemas()
	if _, err := schemas.Create(t.Context(), schema, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.FlowcontrolV1().PriorityLevelConfigurations().Get(t.Context(), schema.Spec.PriorityLevelConfiguration.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("the priority level does not exist: %v", err)
	}
}
