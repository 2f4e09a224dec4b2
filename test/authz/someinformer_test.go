package authz

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// An unchanged informer across namespaces shows the objects of the namespaces that its user may read, whenever these change.
func TestInformerShowsTheNamespacesThatItsUserMayRead(t *testing.T) {
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	admin := apiserver.Client("admin")
	names := []string{apiserver.Namespace(t), apiserver.Namespace(t), apiserver.Namespace(t)}
	bind := func(ns string) (unbind func()) {
		return apiserver.Grant(t, ns, harness.User("some-informer"), rights["read"])
	}
	write := func(ns string) {
		t.Helper()
		apiserver.MustCreate(t, "/api/v1/namespaces/"+ns+"/configmaps", `{"metadata":{"generateName":"m-"}}`)
	}
	for _, ns := range names {
		write(ns)
	}
	unbind := bind(names[0])
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
			list, err := admin.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			var want []string
			for _, m := range list.Items {
				if slices.Contains(visible, m.Namespace) {
					want = append(want, m.Namespace+"/"+m.Name+"@"+m.ResourceVersion)
				}
			}
			var got []string
			for _, o := range store.List() {
				m := o.(*corev1.ConfigMap)
				got = append(got, m.Namespace+"/"+m.Name+"@"+m.ResourceVersion)
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("-apiserver +informer\n%s", diff)
			}
			return nil
		})
	}
	step := func(what string, visible ...string) {
		t.Helper()
		for _, ns := range names {
			write(ns)
		}
		check(what, visible...)
	}
	step("first", names[0])
	unbindSecond := bind(names[1])
	step("a gain", names[0], names[1])
	unbind()
	step("a loss", names[1])
	bind(names[0])
	bind(names[2])
	unbindSecond()
	step("gains and a loss at once", names[0], names[2])
	if err := admin.CoreV1().Namespaces().Delete(t.Context(), names[2], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	names = names[:2]
	step("a namespace is deleted", names[0])
}
