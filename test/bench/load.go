package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	"sluice/test/harness"
)

const (
	// namespaces is the number of namespaces of the pods.
	namespaces = 4
	// podSeed is the seed of the pods' random fields.
	podSeed = 1
	// deleters is the number of concurrent deletions.
	deleters = 32
	// loadAttempts bounds the attempts after errors: etcd times out on a busy disk.
	loadAttempts = 5
)

// load makes the namespaces contain exactly e.pods pods. The first pods are the same for every
// number, so that it creates or deletes only the difference to an earlier load.
func (e *env) load(ctx context.Context) error {
	client := e.controlPlane.Client(user).CoreV1()
	e.names, e.onNode = nil, map[string]int{}
	for i := range namespaces {
		ns := namespaceName(i)
		_, err := client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		pods := harness.Pods(namespaceSize(e.pods, i), ns, podSeed)
		for _, p := range pods {
			e.names = append(e.names, "/api/v1/namespaces/"+ns+"/pods/"+p.Name)
			e.onNode[p.Spec.NodeName]++
		}
		if err := e.loadAll(ctx, client.Pods(ns), ns, pods); err != nil {
			return err
		}
	}
	e.nodes = slices.Sorted(maps.Keys(e.onNode))
	return nil
}

// node returns a node that has pods, another one for each i below the number of nodes.
func (e *env) node(i int) string { return e.nodes[i%len(e.nodes)] }

// namespaceSize returns the number of pods in the i-th namespace.
func namespaceSize(pods, i int) int { return (pods + namespaces - 1 - i) / namespaces }

func namespaceName(i int) string { return fmt.Sprintf("bench-%d", i) }

// loadAll makes a namespace contain exactly these pods.
func (e *env) loadAll(ctx context.Context, client v1.PodInterface, ns string, pods []*corev1.Pod) error {
	var failed error
	for range loadAttempts {
		missing, err := deleteOthers(ctx, client, pods)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			return nil
		}
		progress("loading %d pods into %s", len(missing), ns)
		if failed = e.controlPlane.CreatePods(ctx, missing); failed != nil {
			progress("%v", failed)
		}
	}
	return failed
}

// deleteOthers deletes other pods, and pods without status so that they are created again. It
// returns the pods that do not exist.
func deleteOthers(ctx context.Context, client v1.PodInterface, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	found, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	whole := make(map[string]bool, len(pods)) // whether each wanted pod exists with its status
	for _, p := range pods {
		whole[p.Name] = false
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(deleters)
	for _, p := range found.Items {
		_, wanted := whole[p.Name]
		if wanted && p.Status.Phase == corev1.PodRunning {
			whole[p.Name] = true
			continue
		}
		g.Go(func() error {
			return client.Delete(gctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return whole[p.Name] }), nil
}
