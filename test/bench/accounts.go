package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// accountsNamespace is the namespace of the users' service accounts.
const accountsNamespace = "bench-users"

// serviceAccounts returns tokens of n service accounts that may read pods.
func (e *env) serviceAccounts(ctx context.Context, n int) ([]string, error) {
	tokens, err := e.accounts(ctx, accountsNamespace, n)
	if err != nil {
		return nil, err
	}
	name := metav1.ObjectMeta{Name: accountsNamespace}
	rbac := e.controlPlane.Client(user).RbacV1()
	role := &rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods"}}}}
	if _, err := rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	return tokens, e.bind(ctx, role.Name, "system:serviceaccounts:"+accountsNamespace)
}

// bind gives the members of a group a cluster role.
func (e *env) bind(ctx context.Context, role, group string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench:" + group}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}},
	}
	_, err := e.controlPlane.Client(user).RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// accounts returns tokens of n service accounts of a namespace, which it creates.
func (e *env) accounts(ctx context.Context, namespace string, n int) ([]string, error) {
	progress("creating %d users", n)
	client := e.controlPlane.Client(user)
	none := metav1.CreateOptions{}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, space, none); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	tokens := make([]string, n)
	accounts := client.CoreV1().ServiceAccounts(namespace)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(deleters)
	for i := range n {
		g.Go(func() error {
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("user-%d", i)}}
			if _, err := accounts.Create(ctx, account, none); err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
			issued, err := accounts.CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{
				Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600 * 4)},
			}, none)
			if err == nil {
				tokens[i] = issued.Status.Token
			}
			return err
		})
	}
	return tokens, g.Wait()
}
