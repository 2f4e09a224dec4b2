package main

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"sluice/test/harness"
)

// accountsNamespace is the namespace of the users' service accounts.
const accountsNamespace = "bench-users"

// podReaders returns tokens of n service accounts that may read pods.
func (w *world) podReaders(ctx context.Context, n int) []string {
	return w.accounts(ctx, accountsNamespace, n, harness.MayRead("", "pods"))
}

// named is an object in JSON that has only a name.
func named(name string) string { return fmt.Sprintf(`{"metadata":{"name":%q}}`, name) }

// accounts returns tokens of n service accounts of a namespace, which it creates, with the rules as their rights.
func (w *world) accounts(ctx context.Context, namespace string, n int, rules ...rbacv1.PolicyRule) []string {
	check(w.plane.Create(ctx, "/api/v1/namespaces", named(namespace)))
	if len(rules) > 0 {
		all := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + namespace}
		must(w.plane.Bind(ctx, "", []rbacv1.Subject{all}, rules...))
	}
	return w.tokens(ctx, n, func(ctx context.Context, i int) string {
		check(w.plane.Create(ctx, "/api/v1/namespaces/"+namespace+"/serviceaccounts", named(accountName(i))))
		return w.token(ctx, namespace, accountName(i))
	})
}

func accountName(i int) string { return fmt.Sprintf("user-%d", i) }

// token returns a new token of a service account.
func (w *world) token(ctx context.Context, namespace, account string) string {
	hours := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600 * 4)}}
	accounts := w.plane.Client(user).CoreV1().ServiceAccounts(namespace)
	return must(accounts.CreateToken(ctx, account, hours, metav1.CreateOptions{})).Status.Token
}

// accountMakers is the number of tokens that are created at the same time.
const accountMakers = 32

// tokens returns n tokens, of which each is made by a call.
func (w *world) tokens(ctx context.Context, n int, of func(context.Context, int) string) []string {
	progress("creating %d tokens", n)
	all := make([]string, n)
	g, ctx := newGroup(ctx, accountMakers)
	for i := range n {
		g.run(func() { all[i] = of(ctx, i) })
	}
	g.wait()
	return all
}
