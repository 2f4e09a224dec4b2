package harness

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// writers is the number of concurrent writes, below the limits of the apiserver.
const writers = 32

// CreatePods creates pods made by Pods, with their status, as controllers and kubelets would: the
// apiserver sets UIDs, creation times, versions and managed fields. Their owners and nodes do not
// exist, so the garbage collector would delete them.
func (c *ControlPlane) CreatePods(ctx context.Context, pods []*corev1.Pod) error {
	client := c.Client("admin")
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, p := range pods {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return createPod(ctx, client, p) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("create %d pods: %w", len(pods), err)
	}
	return nil
}

func createPod(ctx context.Context, client kubernetes.Interface, p *corev1.Pod) error {
	fresh := p.DeepCopy()
	fresh.UID, fresh.ResourceVersion, fresh.ManagedFields = "", "", nil
	fresh.CreationTimestamp = metav1.Time{}
	pods := client.CoreV1().Pods(p.Namespace)
	created, err := pods.Create(ctx, fresh, metav1.CreateOptions{FieldManager: "kube-controller-manager"})
	if err != nil {
		return err
	}
	created.Status = p.Status
	_, err = pods.UpdateStatus(ctx, created, metav1.UpdateOptions{FieldManager: "kubelet"})
	return err
}
