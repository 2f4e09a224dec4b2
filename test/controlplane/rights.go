package main

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	sluice = "sluice"
	// sluiceRights is the name of the role and of its binding. That of an installed Sluice is "sluice".
	sluiceRights = "controlplane:sluice"
)

// sluiceRules are exactly the rights that docs/operating.md requires, so that a test fails if Sluice
// needs more.
var sluiceRules = []rbacv1.PolicyRule{
	{ // reflectors; get would include nodes/proxy
		Verbs: []string{"list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"},
	},
	{ // columns and selectable fields of custom resources
		Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"},
	},
	{ // whether an extension server serves a resource
		Verbs: []string{"get"}, APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"},
	},
	{ // names of front-proxy headers
		Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"},
		ResourceNames: []string{"extension-apiserver-authentication"},
	},
	{ // discovery, health
		Verbs: []string{"get"}, NonResourceURLs: []string{"/version", "/api", "/api/*", "/apis", "/apis/*"},
	},
	{ // authentication of callers
		Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"},
	},
	{ // authorization of callers
		Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"},
	},
	{ // forwarded requests of callers with client certificates
		Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users", "groups", "serviceaccounts"},
	},
	{ // UIDs and extras; RBAC has no wildcard for the subresources of userextras
		Verbs: []string{"impersonate"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"*"},
	},
}

// grantRights creates or updates the rights of the user sluice.
func grantRights(ctx context.Context, c kubernetes.Interface) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: sluiceRights}, Rules: sluiceRules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: sluiceRights},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: sluiceRights},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: sluice}},
	}
	roles, bindings := c.RbacV1().ClusterRoles(), c.RbacV1().ClusterRoleBindings()
	_, err := roles.Create(ctx, role, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = roles.Update(ctx, role, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("grant rights: %w", err)
	}
	_, err = bindings.Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("grant rights: %w", err)
	}
	return nil
}
