package authz

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"sluice/test/harness"
)

// An unchanged informer across namespaces shows the objects of the namespaces that its user may read, whenever these change.
func TestInformerShowsTheNamespacesThatItsUserMayRead(t *testing.T) {
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	admin := apiserver.Client("admin")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "informer-"}, Rules: []rbacv1.PolicyRule{rights["read"]}}
	role, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{apiserver.Namespace(t), apiserver.Namespace(t), apiserver.Namespace(t)}
	bind := func(ns string) {
		t.Helper()
		b := &rbacv1.RoleBinding{ObjectMeta: named("informer"), Subjects: []rbacv1.Subject{user("some-informer")},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}}
		if _, err := admin.RbacV1().RoleBindings(ns).Create(t.Context(), b, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	unbind := func(ns string) {
		t.Helper()
		if err := admin.RbacV1().RoleBindings(ns).Delete(t.Context(), "informer", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	write := func(ns string) {
		t.Helper()
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "m-"}}
		if _, err := admin.CoreV1().ConfigMaps(ns).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, ns := range names {
		write(ns)
	}
	bind(names[0])
	cfg := sluice.RESTConfig("admin")
	cfg.UserAgent, cfg.Impersonate = "some-informer/v1", rest.ImpersonationConfig{UserName: "some-informer"}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	store := factory.Core().V1().ConfigMaps().Informer().GetStore()
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	check := func(what string, visible ...string) {
		t.Helper()
		harness.Eventually(t, what, func() error {
			var want []string
			for _, ns := range visible {
				list, err := admin.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
				if err != nil {
					return err
				}
				for _, m := range list.Items {
					want = append(want, ns+"/"+m.Name+"@"+m.ResourceVersion)
				}
			}
			var got []string
			for _, o := range store.List() {
				m := o.(*corev1.ConfigMap)
				got = append(got, cache.NewObjectName(m.Namespace, m.Name).String()+"@"+m.ResourceVersion)
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("-apiserver +informer\n%s", diff)
			}
			return nil
		})
	}
	start := time.Now()
	step := func(what string, visible ...string) {
		t.Helper()
		for _, ns := range names {
			write(ns)
		}
		check(what, visible...)
		t.Logf("%s after %v", what, time.Since(start).Round(100*time.Millisecond))
	}
	step("first", names[0])
	bind(names[1])
	step("a gain", names[0], names[1])
	unbind(names[0])
	step("a loss", names[1])
	bind(names[0])
	bind(names[2])
	unbind(names[1])
	step("gains and a loss at once", names[0], names[2])
	if err := admin.CoreV1().Namespaces().Delete(t.Context(), names[2], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	names = names[:2]
	step("a namespace is deleted", names[0])
}
