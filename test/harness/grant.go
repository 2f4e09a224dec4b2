package harness

import (
	"context"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// User is the subject of a user's rights.
func User(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

// MayRead is the right to read resources of a group.
func MayRead(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{group}, Resources: resources}
}

// Grant gives a subject rights in a namespace, or with "" in all of them, until revoke is called or the test ends.
func (c *ControlPlane) Grant(t testing.TB, namespace string, to rbacv1.Subject, rules ...rbacv1.PolicyRule) (revoke func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	unbind, err := c.Bind(ctx, namespace, []rbacv1.Subject{to}, rules...)
	if err != nil {
		t.Fatal(err)
	}
	revoke = sync.OnceFunc(func() {
		if err := unbind(ctx); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	t.Cleanup(revoke)
	return revoke
}

// Bind is Grant for some subjects, without a test.
func (c *ControlPlane) Bind(ctx context.Context, namespace string, to []rbacv1.Subject, rules ...rbacv1.PolicyRule) (unbind func(context.Context) error, err error) {
	rbac, meta := c.Client("admin").RbacV1(), metav1.ObjectMeta{GenerateName: "granted-"}
	role, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
	meta = metav1.ObjectMeta{Name: role.Name}
	if namespace == "" {
		_, err = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: to, RoleRef: ref}, metav1.CreateOptions{})
		return func(ctx context.Context) error {
			return rbac.ClusterRoleBindings().Delete(ctx, meta.Name, metav1.DeleteOptions{})
		}, err
	}
	_, err = rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: to, RoleRef: ref}, metav1.CreateOptions{})
	return func(ctx context.Context) error {
		return rbac.RoleBindings(namespace).Delete(ctx, meta.Name, metav1.DeleteOptions{})
	}, err
}
