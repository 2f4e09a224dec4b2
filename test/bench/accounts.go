package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// accountsNamespace is the namespace of the users' service accounts.
const accountsNamespace = "bench-users"

// podReaders returns tokens of n service accounts that may read pods.
func (w *world) podReaders(ctx context.Context, n int) ([]string, error) {
	read := rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	return w.accounts(ctx, accountsNamespace, n, read)
}

// allow gives the service accounts of a namespace a cluster role of its name with rules.
func (w *world) allow(ctx context.Context, namespace string, rules ...rbacv1.PolicyRule) error {
	rbac, name := w.plane.Client(user).RbacV1(), metav1.ObjectMeta{Name: namespace}
	role := &rbacv1.ClusterRole{ObjectMeta: name, Rules: rules}
	if _, err := rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); ignoreExists(err) != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:serviceaccounts:" + namespace}},
	}
	_, err := rbac.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return ignoreExists(err)
}

// accountMakers is the number of accounts that are created at the same time.
const accountMakers = 32

// accounts returns tokens of n service accounts of a namespace, which it creates, with the rules as their rights.
func (w *world) accounts(ctx context.Context, namespace string, n int, rules ...rbacv1.PolicyRule) ([]string, error) {
	progress("creating %d users", n)
	client := w.plane.Client(user)
	none := metav1.CreateOptions{}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, space, none); ignoreExists(err) != nil {
		return nil, err
	}
	if len(rules) > 0 {
		if err := w.allow(ctx, namespace, rules...); err != nil {
			return nil, err
		}
	}
	tokens := make([]string, n)
	accounts := client.CoreV1().ServiceAccounts(namespace)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(accountMakers)
	for i := range n {
		g.Go(func() error {
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("user-%d", i)}}
			if _, err := accounts.Create(ctx, account, none); ignoreExists(err) != nil {
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
