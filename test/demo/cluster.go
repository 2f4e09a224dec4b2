package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	// roundInterval is the time between two rounds over all pods.
	roundInterval = 300 * time.Millisecond
	// restartInterval is the time between two container restarts in the whole cluster.
	restartInterval = 300 * time.Millisecond
)

// cluster plays scheduler and kubelets: it binds and runs new pods and finishes deleted ones.
type cluster struct {
	client  kubernetes.Interface
	pods    cache.SharedInformer // one informer: the factory of all of them takes a minute to compile
	nodes   []string
	started int // pods that the cluster started
}

func newCluster(client kubernetes.Interface, n *nodes) *cluster {
	pods := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
	return &cluster{client: client, pods: cache.NewSharedInformer(pods, &corev1.Pod{}, 0), nodes: n.names}
}

// runInformer keeps the list of pods current until the context ends.
func (c *cluster) runInformer(ctx context.Context) error {
	c.pods.RunWithContext(ctx)
	return nil
}

// sync waits until the informer has listed the pods.
func (c *cluster) sync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.pods.HasSynced) {
		return errors.New("the pods cannot be watched")
	}
	return nil
}

// runPods reconciles all pods, round by round, until the context ends. The next round repeats what
// failed in this one.
func (c *cluster) runPods(ctx context.Context) error {
	every(ctx, roundInterval, func() {
		for _, p := range c.all() {
			switch {
			case p.DeletionTimestamp != nil:
				c.finish(ctx, p)
			case p.Spec.NodeName == "":
				c.bind(ctx, p)
			case p.Status.Phase == corev1.PodPending:
				c.run(ctx, p)
			}
		}
	})
	return nil
}

// all returns the current pods, which must not be changed.
func (c *cluster) all() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range c.pods.GetStore().List() {
		pods = append(pods, o.(*corev1.Pod))
	}
	return pods
}

func (c *cluster) finish(ctx context.Context, p *corev1.Pod) {
	opts := metav1.NewPreconditionDeleteOptions(string(p.UID))
	now := int64(0)
	opts.GracePeriodSeconds = &now
	_ = c.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, *opts)
}

func (c *cluster) bind(ctx context.Context, p *corev1.Pod) {
	_ = c.client.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: c.nodes[rand.IntN(len(c.nodes))]},
	}, metav1.CreateOptions{})
}

func (c *cluster) run(ctx context.Context, p *corev1.Pod) {
	c.started++
	fresh := p.DeepCopy()
	fresh.Status = runningStatus(p, podIP(1<<16+c.started))
	c.update(ctx, fresh)
}

// restartPods restarts a container of a random pod at each interval until the context ends.
func (c *cluster) restartPods(ctx context.Context) error {
	every(ctx, restartInterval, func() {
		if pods := c.all(); len(pods) > 0 {
			fresh := pods[rand.IntN(len(pods))].DeepCopy()
			if len(fresh.Status.ContainerStatuses) > 0 {
				restart(&fresh.Status.ContainerStatuses[0])
				c.update(ctx, fresh)
			}
		}
	})
	return nil
}

func (c *cluster) update(ctx context.Context, p *corev1.Pod) {
	_, _ = c.client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{FieldManager: "kubelet"})
}
