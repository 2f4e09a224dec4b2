package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
)

const (
	// roundInterval is how soon a new pod runs and a deleted one is gone.
	roundInterval = 300 * time.Millisecond
	// restartInterval is how often a container of any pod restarts.
	restartInterval = 300 * time.Millisecond
)

// cluster plays scheduler and kubelets: pods that controllers or the user make are bound and run,
// those that are deleted end.
type cluster struct {
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
	pods      corelisters.PodLister
	nodes     []string
	started   int // pods that were started here
}

func newCluster(client kubernetes.Interface, n *nodes) *cluster {
	f := informers.NewSharedInformerFactory(client, 0)
	return &cluster{client: client, informers: f, pods: f.Core().V1().Pods().Lister(), nodes: n.names}
}

// sync waits until the pods are known, and follows them until the context ends.
func (c *cluster) sync(ctx context.Context) error {
	c.informers.Start(ctx.Done())
	for _, ok := range c.informers.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return errors.New("pods cannot be watched")
		}
	}
	return nil
}

// runPods looks after all pods, round by round, until the context ends. What fails in one round is
// tried again in the next.
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
	c.informers.Shutdown()
	return nil
}

// all are the pods of now, not to be changed.
func (c *cluster) all() []*corev1.Pod {
	pods, _ := c.pods.List(labels.Everything()) // a cache does not fail
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

// restartPods restarts a container of one pod after the other until the context ends.
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
