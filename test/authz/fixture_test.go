package authz

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"sluice/test/harness"
)

var (
	apiserver *harness.ControlPlane
	sluice    *harness.Sluice
)

// config trusts the front proxy of the control plane, as the apiserver does, and anonymous callers. No verdict expires while a
// slow machine runs a test, so that reviews can be counted, and only changes of RBAC objects revoke one.
const config = `
apiVersion: sluice/v1alpha1
kind: Configuration
authentication:
  anonymous: true
  frontProxy: {clientCAFile: %s, names: [%s]}
authorization: {allowTTL: 5m, denyTTL: 5m, allowedNamespaces: {userAgents: [some-informer/*]}}
projections:
- {resource: limitranges, callers: {userAgents: [old-client/*]}, keep: [metadata.annotations]}
debugHeaders: true
`

func TestMain(m *testing.M) { harness.Main(m, 50, run) }

func run(m *testing.M) (code int, err error) {
	// The controllers aggregate roles.
	if apiserver, err = harness.StartMain(harness.Options{Controllers: true}); err != nil {
		return 0, err
	}
	defer apiserver.Stop()
	if err := create(context.Background()); err != nil {
		return 0, err
	}
	text := fmt.Sprintf(config, filepath.Join(apiserver.Dir, "front-proxy-ca.crt"), frontProxy)
	if sluice, err = apiserver.StartSluiceMain(harness.SluiceOptions{Config: text}); err != nil {
		return 0, err
	}
	code = m.Run()
	if err = sluice.Stop(); err != nil || code != 0 {
		fmt.Fprintln(os.Stderr, sluice.Log())
	}
	return code, err
}

// create creates two namespaces with a pod and two configuration maps each, and rights for the users
// whose names say by what they have them.
func create(ctx context.Context) error {
	var errs []error
	post := func(path, object string) { errs = append(errs, apiserver.Create(ctx, path, object)) }
	bind := func(ns string, rules []rbacv1.PolicyRule, subjects ...rbacv1.Subject) {
		_, err := apiserver.Bind(ctx, ns, subjects, rules...)
		errs = append(errs, err)
	}
	const namespaces, rbac = "/api/v1/namespaces", "/apis/rbac.authorization.k8s.io/v1"
	for _, ns := range []string{"a", "b"} {
		post(namespaces, named(ns))
		post(namespaces+"/"+ns+"/serviceaccounts", named("sa"))
		post(namespaces+"/"+ns+"/configmaps", named("one"))
		post(namespaces+"/"+ns+"/configmaps", named("two"))
		post(namespaces+"/"+ns+"/pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}}`)
	}
	const notUTF8 = "\ufffd" // what JSON has in place of a name that is not UTF-8
	pods, one := []rbacv1.PolicyRule{harness.MayRead("", "pods")}, harness.MayRead("", "configmaps")
	one.ResourceNames = []string{"one"}
	bind("a", pods, harness.User("by-namespace"), harness.User("reader"), harness.User(notUTF8), group("by-group"), group("system:serviceaccounts:b"))
	bind("a", []rbacv1.PolicyRule{one}, harness.User("by-name"))
	bind("a", []rbacv1.PolicyRule{harness.MayRead("", "namespaces")}, harness.User("by-namespace"))
	bind("", pods, harness.User("by-cluster"))
	bind("", []rbacv1.PolicyRule{
		{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"by-namespace"}},
	}, harness.User("reader"))
	post(rbac+"/clusterroles", `{"metadata":{"name":"part","labels":{"aggregate":"true"}},
		"rules":[{"verbs":["get","list","watch"],"apiGroups":[""],"resources":["configmaps"]}]}`)
	post(rbac+"/clusterroles", `{"metadata":{"name":"whole"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"aggregate":"true"}}]}}`)
	post(rbac+"/clusterrolebindings", `{"metadata":{"name":"whole"},
		"subjects":[{"kind":"User","name":"by-aggregation","apiGroup":"rbac.authorization.k8s.io"}],
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"whole"}}`)
	for kind, rules := range impersonators {
		in := "may-impersonate-" + kind
		post(namespaces, named(in))
		bind("", rules, group(in), group("system:serviceaccounts:"+in))
	}
	return errors.Join(errs...)
}

// named is an object that has nothing but a name.
func named(name string) string { return fmt.Sprintf(`{"metadata":{"name":%q}}`, name) }

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}
