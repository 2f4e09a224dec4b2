package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// namespaces is how many hold the pods.
const namespaces = 4

// load creates the pods, unless they are there from an earlier run on the same directory.
func (b *bed) load(ctx context.Context) error {
	for i := range namespaces {
		share := b.pods / namespaces
		if i < b.pods%namespaces {
			share++
		}
		if err := b.loadNamespace(ctx, fmt.Sprintf("bench-%d", i), share); err != nil {
			return err
		}
	}
	return nil
}

func (b *bed) loadNamespace(ctx context.Context, ns string, n int) error {
	client := b.plane.Client(user).CoreV1()
	_, err := client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	pods := harness.Pods(n, ns, uint64(b.pods))
	for _, p := range pods {
		b.names = append(b.names, "/api/v1/namespaces/"+ns+"/pods/"+p.Name)
	}
	found, err := client.Pods(ns).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	switch have := len(found.Items) + int(remaining(found)); have {
	case n:
		return nil
	case 0:
		progress("loading %d pods into %s", n, ns)
		return b.plane.Load(ctx, pods)
	default:
		return fmt.Errorf("namespace %s of %s holds %d pods, not %d", ns, b.dir, have, n)
	}
}

func remaining(l *corev1.PodList) int64 {
	if l.RemainingItemCount == nil {
		return 0
	}
	return *l.RemainingItemCount
}
