package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"sluice/test/harness"
)

// namespaces hold the sample pods.
var namespaces = []string{"shop", "payments", "search", "platform"}

// samples are the objects that a demo starts with.
type samples struct {
	plane   *harness.ControlPlane
	client  kubernetes.Interface
	dynamic dynamic.Interface
	pods    []*corev1.Pod
	nodes   *nodes
}

func newSamples(plane *harness.ControlPlane, n int) *samples {
	s := &samples{
		plane: plane, client: plane.Client("admin"), dynamic: dynamic.NewForConfigOrDie(plane.RESTConfig("admin")),
		pods: samplePods(n),
	}
	s.nodes = newNodes(s.client, s.pods)
	return s
}

// samplePods returns running pods without owners; ReplicaSets created later adopt them.
func samplePods(n int) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, n)
	for i, ns := range namespaces {
		share := n*(i+1)/len(namespaces) - n*i/len(namespaces)
		pods = append(pods, harness.Pods(share, ns, uint64(i+1))...)
	}
	for i, p := range pods {
		p.OwnerReferences = nil
		p.Status.PodIP = podIP(i)
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	}
	return pods
}

// podIP returns the address of the i-th pod.
func podIP(i int) string {
	return fmt.Sprintf("10.%d.%d.%d", 64+i>>16&63, i>>8&255, i&255)
}

// fill creates all samples, the nodes first, and keeps the nodes ready in g: the controllers delete pods
// whose node is missing or not ready.
func (s *samples) fill(ctx context.Context, g *errgroup.Group) error {
	if err := each(ctx, namespaces, s.makeNamespace); err != nil {
		return err
	}
	if err := s.nodes.register(ctx); err != nil {
		return err
	}
	g.Go(func() error { return s.nodes.keepReady(ctx) })
	if err := s.plane.CreatePods(ctx, s.pods); err != nil {
		return err
	}
	if err := each(ctx, appsOf(s.pods), s.makeApp); err != nil {
		return err
	}
	return s.makeBackups(ctx)
}

// makeNamespace creates a namespace and waits for the service account that its pods need.
func (s *samples) makeNamespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": name}}}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return err
	}
	return harness.Poll(ctx, func() error {
		_, err := s.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// appsOf groups the pods by their app label.
func appsOf(pods []*corev1.Pod) []*app {
	apps := make(map[string]*app)
	for _, p := range pods {
		key := p.Namespace + "/" + p.Labels[nameLabel]
		if apps[key] == nil {
			apps[key] = &app{pod: p}
		}
		apps[key].replicas++
	}
	return slices.Collect(maps.Values(apps))
}
