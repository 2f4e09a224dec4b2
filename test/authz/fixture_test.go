package authz

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

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
	if err := create(context.Background(), apiserver.Client("admin")); err != nil {
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
func create(ctx context.Context, c kubernetes.Interface) error {
	var errs []error
	check := func(_ any, err error) {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			errs = append(errs, err)
		}
	}
	none := metav1.CreateOptions{}
	for _, ns := range []string{"a", "b"} {
		check(c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: named(ns)}, none))
		check(c.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: named("sa")}, none))
		check(c.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: named("default")}, none))
		for _, name := range []string{"one", "two"} {
			check(c.CoreV1().ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: named(name)}, none))
		}
		pod := &corev1.Pod{ObjectMeta: named("p"), Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		check(c.CoreV1().Pods(ns).Create(ctx, pod, none))
	}
	bind := func(ns string, rule rbacv1.PolicyRule, subjects ...rbacv1.Subject) {
		check(apiserver.Bind(ctx, ns, subjects, rule))
	}
	const notUTF8 = "\ufffd" // what JSON has in place of a name that is not UTF-8
	pods, one := harness.MayRead("", "pods"), harness.MayRead("", "configmaps")
	one.ResourceNames = []string{"one"}
	bind("a", pods, harness.User("by-namespace"), harness.User("reader"), harness.User(notUTF8), group("by-group"), group("system:serviceaccounts:b"))
	bind("a", one, harness.User("by-name"))
	bind("a", harness.MayRead("", "namespaces"), harness.User("by-namespace"))
	bind("", pods, harness.User("by-cluster"))
	bind("", rbacv1.PolicyRule{
		Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"by-namespace"},
	}, harness.User("reader"))
	part := &rbacv1.ClusterRole{ObjectMeta: named("part"), Rules: []rbacv1.PolicyRule{harness.MayRead("", "configmaps")}}
	part.Labels = map[string]string{"aggregate": "true"}
	check(c.RbacV1().ClusterRoles().Create(ctx, part, none))
	check(c.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: named("whole"), AggregationRule: &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: part.Labels}},
	}}, none))
	check(c.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: named("whole"), Subjects: []rbacv1.Subject{harness.User("by-aggregation")},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "whole"},
	}, none))
	for kind, rules := range impersonators {
		in := "may-impersonate-" + kind
		check(c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: named(in)}, none))
		check(apiserver.Bind(ctx, "", []rbacv1.Subject{group(in), group("system:serviceaccounts:" + in)}, rules...))
	}
	return errors.Join(errs...)
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}
