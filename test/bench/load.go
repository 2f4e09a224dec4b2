package main

import (
	"context"
	"fmt"
	"slices"

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
	// loadAttempts bounds the attempts after errors: etcd times out on a busy disk.
	loadAttempts = 5
)

// load creates the pods that do not exist from an earlier run on the same directory.
func (e *env) load(ctx context.Context) error {
	client := e.controlPlane.Client(user).CoreV1()
	for i := range namespaces {
		share := e.pods / namespaces
		if i < e.pods%namespaces {
			share++
		}
		ns := namespaceName(i)
		_, err := client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		pods := harness.Pods(share, ns, uint64(e.pods))
		for _, p := range pods {
			e.names = append(e.names, "/api/v1/namespaces/"+ns+"/pods/"+p.Name)
		}
		if err := e.loadAll(ctx, client.Pods(ns), ns, pods); err != nil {
			return err
		}
	}
	return nil
}

func namespaceName(i int) string { return fmt.Sprintf("bench-%d", i) }

// loadAll creates the missing pods of a namespace.
func (e *env) loadAll(ctx context.Context, client v1.PodInterface, ns string, pods []*corev1.Pod) error {
	var failed error
	for range loadAttempts {
		missing, err := missing(ctx, client, pods)
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

// missing returns the pods that do not exist; it deletes pods without status, so that they are
// created again. A pod of another load is an error.
func missing(ctx context.Context, client v1.PodInterface, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	found, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	whole := make(map[string]bool, len(pods)) // whether each wanted pod exists with its status
	for _, p := range pods {
		whole[p.Name] = false
	}
	for _, p := range found.Items {
		if _, wanted := whole[p.Name]; !wanted {
			return nil, fmt.Errorf("pod %s/%s belongs to another load", p.Namespace, p.Name)
		}
		if whole[p.Name] = p.Status.Phase == corev1.PodRunning; !whole[p.Name] {
			if err := client.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return whole[p.Name] }), nil
}
