package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
)

// sluiceRights is the name of the role and of its binding. That of an installed Sluice is "sluice".
const sluiceRights = "controlplane:sluice"

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
func grantRights(ctx context.Context, c rest.Interface) error {
	rules, err := json.Marshal(sluiceRules)
	if err != nil {
		return err
	}
	const path = "/apis/rbac.authorization.k8s.io/v1/"
	return errors.Join(apply(ctx, c, path+"clusterroles/"+sluiceRights, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %q}
rules: %s
`, sluiceRights, rules)), apply(ctx, c, path+"clusterrolebindings/"+sluiceRights, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]q}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]q}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: sluice}]
`, sluiceRights)))
}
