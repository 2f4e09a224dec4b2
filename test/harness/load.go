package harness

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// writers keep the apiserver busy and stay below its limits.
const writers = 32

// CreatePods creates the pods, which must come from Pods, with their status, the way controllers and
// kubelets would: the server issues uids, times, versions and managed fields. Their owners and
// nodes do not exist, so with controllers running they soon are garbage.
func (c *ControlPlane) CreatePods(ctx context.Context, pods []*corev1.Pod) error {
	client := c.Client("admin")
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, p := range pods {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return loadPod(ctx, client, p) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("load %d pods: %w", len(pods), err)
	}
	return nil
}

func loadPod(ctx context.Context, client kubernetes.Interface, p *corev1.Pod) error {
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
