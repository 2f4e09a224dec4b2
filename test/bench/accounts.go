package main

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// accountsNamespace is the namespace of the users' service accounts.
const accountsNamespace = "bench-users"

// podReaders returns tokens of n service accounts that may read pods.
func (w *world) podReaders(ctx context.Context, n int) []string {
	read := rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	return w.accounts(ctx, accountsNamespace, n, read)
}

// accountMakers is the number of accounts that are created at the same time.
const accountMakers = 32

// accounts returns tokens of n service accounts of a namespace, which it creates, with the rules as their rights.
func (w *world) accounts(ctx context.Context, namespace string, n int, rules ...rbacv1.PolicyRule) []string {
	progress("creating %d users", n)
	client, none, name := w.plane.Client(user), metav1.CreateOptions{}, metav1.ObjectMeta{Name: namespace}
	created(client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: name}, none))
	if len(rules) > 0 {
		created(client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: name, Rules: rules}, none))
		created(client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: namespace},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:serviceaccounts:" + namespace}},
		}, none))
	}
	tokens, accounts := make([]string, n), client.CoreV1().ServiceAccounts(namespace)
	g, ctx := newGroup(ctx, accountMakers)
	for i := range n {
		g.run(func() {
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: accountName(i)}}
			created(accounts.Create(ctx, account, none))
			tokens[i] = must(accounts.CreateToken(ctx, account.Name, tokenRequest(), none)).Status.Token
		})
	}
	g.wait()
	return tokens
}

func accountName(i int) string { return fmt.Sprintf("user-%d", i) }

func tokenRequest() *authenticationv1.TokenRequest {
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600 * 4)}}
}

// tokens returns n tokens of one service account.
func (w *world) tokens(ctx context.Context, namespace, account string, n int) []string {
	progress("creating %d tokens", n)
	accounts, all := w.plane.Client(user).CoreV1().ServiceAccounts(namespace), make([]string, n)
	g, ctx := newGroup(ctx, accountMakers)
	for i := range n {
		g.run(func() {
			all[i] = must(accounts.CreateToken(ctx, account, tokenRequest(), metav1.CreateOptions{})).Status.Token
		})
	}
	g.wait()
	return all
}
