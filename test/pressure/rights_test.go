package pressure

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// Sluice may no longer read a resource that it has cached. It is not ready, and says which resource that is,
// until it may read it again. Others are served on, and callers who may read it themselves do, at the apiserver,
// within the budget.
func TestAResourceThatSluiceMayNoLongerReadIsNamed(t *testing.T) {
	createConfigMaps(t, objects, objectSize)
	r := startSluice(t)
	r.WaitForCacheSync(t, configMaps, "configmaps.v1")
	r.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	grant := withdrawRights(t)
	awaitReport(t, r, "/readyz?verbose", "readyz check passed") // the watch is open: nothing is lost yet
	r.link.Cut(1)                                               // an apiserver ends no watch because of rights
	awaitReport(t, r, "/readyz", "[-]rights failed: apiserver no longer allows to read configmaps.v1\n")
	r.counts()
	a := readAll(t, r, 10, 0, "c00000")
	if c := r.counts(); c.passed.peak > 2 || len(a.served) != 1 || a.served["upstream; not-in-sync"] != 10 {
		t.Errorf("%v; %v", c, a)
	}
	awaitReport(t, r, "/readyz?verbose&exclude=rights", "cache-sync/pods.v1 ok")

	// A gateway that starts without the right takes that as its configuration.
	other := startSluice(t)
	other.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	readAll(t, other, 1, 0, "c00000")
	awaitReport(t, other, "/readyz?verbose", "readyz check passed")

	grant()
	awaitReport(t, r, "/readyz?verbose", "readyz check passed")
	r.WaitForCacheSync(t, configMaps, "configmaps.v1")
	awaitReport(t, other, "/readyz?verbose", "readyz check passed")
}

// awaitReport waits until a health endpoint reports something.
func awaitReport(t *testing.T, r *relay, path, want string) {
	t.Helper()
	harness.Eventually(t, path+" reports "+want, func() error {
		report, err := r.AdminGet(path)
		if err == nil && !strings.Contains(report, want) {
			err = fmt.Errorf("%s", report)
		}
		return err
	})
}

// withdrawRights lets Sluice list and watch only pods, and what it needs itself, until grant is called or the
// test ends.
func withdrawRights(t *testing.T) (grant func()) {
	t.Helper()
	roles := apiserver.Client("admin").RbacV1().ClusterRoles()
	role, err := roles.Get(t.Context(), "controlplane:sluice", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules := role.Rules
	role.Rules = append([]rbacv1.PolicyRule{{
		Verbs: []string{"list", "watch"}, APIGroups: []string{"rbac.authorization.k8s.io", "flowcontrol.apiserver.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"},
		Resources: []string{"*"},
	}, {
		Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods", "namespaces"},
	}}, rules[1:]...)
	if role, err = roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	grant = sync.OnceFunc(func() {
		role.Rules = rules
		if _, err := roles.Update(context.Background(), role, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(grant)
	apiserver.Raw("sluice").AwaitStatus(t, http.StatusForbidden, harness.Request{Path: configMaps + "?limit=1"})
	return grant
}
