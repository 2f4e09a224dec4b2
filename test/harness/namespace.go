package harness

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// clearLimit is enough time to delete 10,000 objects.
const clearLimit = 5 * time.Minute

// Namespace creates a namespace with a unique name, and deletes it with all its objects when the test
// ends.
func (c *ControlPlane) Namespace(t testing.TB) string {
	t.Helper()
	client := c.Client("admin")
	ns, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), clearLimit)
		defer cancel()
		if err := c.deleteNamespace(ctx, client, ns.Name); err != nil {
			t.Errorf("delete namespace %s: %v", ns.Name, err)
		}
	})
	if c.opts.Controllers {
		Eventually(t, "service account of "+ns.Name, func() error {
			_, err := client.CoreV1().ServiceAccounts(ns.Name).Get(t.Context(), "default", metav1.GetOptions{})
			return err
		})
	}
	return ns.Name
}

// deleteNamespace deletes the namespace and, without controllers, its objects.
func (c *ControlPlane) deleteNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	namespaces := client.CoreV1().Namespaces()
	err := namespaces.Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || c.opts.Controllers {
		return err
	}
	if err := c.clear(ctx, name); err != nil {
		return err
	}
	_, err = namespaces.Finalize(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// clear deletes every object in the namespace, as the namespace controller would.
func (c *ControlPlane) clear(ctx context.Context, ns string) error {
	resources, err := c.Resources()
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range resources {
		if r.API.Namespaced && r.Can("deletecollection") {
			const now = `{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0}`
			if a, err := c.Raw("admin").Write(ctx, http.MethodDelete, r.Path(ns), now); err != nil && a.Status != http.StatusNotFound {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
