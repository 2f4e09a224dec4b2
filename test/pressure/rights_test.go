package pressure

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// Sluice may no longer read a resource that it has cached. The report of readiness names it, others are
// served on, and callers who may read it themselves do, at the apiserver, within the budget.
func TestAResourceThatSluiceMayNoLongerReadIsNamed(t *testing.T) {
	createConfigMaps(t, objects, objectSize)
	r := startSluice(t, configMaps, harness.SluiceOptions{Config: smallBudget})
	r.WaitForCacheSync(t, configMaps, "configmaps.v1")
	r.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	withdrawRights(t)
	r.link.Cut(1) // an apiserver ends no watch because of rights
	harness.Eventually(t, "the report names the resource", func() error {
		report, err := r.AdminGet("/readyz?verbose")
		if err == nil && (!strings.Contains(report, "cache-sync/configmaps.v1 not in sync") || !strings.Contains(report, "cache-sync/pods.v1 ok")) {
			err = fmt.Errorf("%s", report)
		}
		return err
	})
	r.counts()
	a := readAll(t, r, 10, 0, "c00000")
	if c := r.counts(); c.passed.peak > 2 || len(a.served) != 1 || a.served["upstream; not-in-sync"] != 10 {
		t.Errorf("%v; %v", c, a)
	}
}

// withdrawRights lets Sluice list and watch only pods, and what it needs itself, until the test ends.
func withdrawRights(t *testing.T) {
	t.Helper()
	roles := apiserver.Client("admin").RbacV1().ClusterRoles()
	role, err := roles.Get(t.Context(), "controlplane:sluice", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules := role.Rules
	role.Rules = append([]rbacv1.PolicyRule{{
		Verbs: []string{"list", "watch"}, APIGroups: []string{"rbac.authorization.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"}, Resources: []string{"*"},
	}, {
		Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods", "namespaces"},
	}}, rules[1:]...)
	if role, err = roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		role.Rules = rules
		if _, err := roles.Update(context.Background(), role, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	})
	harness.Eventually(t, "Sluice may not read configmaps", func() error {
		a, err := apiserver.Raw("sluice").Get(t.Context(), configMaps+"?limit=1", "application/json")
		if err == nil && a.Status != http.StatusForbidden {
			err = fmt.Errorf("status %d", a.Status)
		}
		return err
	})
}
