package main

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// startLimit is far above what a slow machine needs; a start that takes longer never ends.
	startLimit   = 2 * time.Minute
	pollInterval = 25 * time.Millisecond
	// probeTimeout keeps a probe which the apiserver swallowed while starting from holding up the rest.
	probeTimeout = 5 * time.Second
)

// makeReady waits until the apiserver says it is ready, which includes the RBAC bootstrap, closes
// ready, grants the rights that users start with, and waits until objects can be created.
func (p plane) makeReady(ctx context.Context, ready chan<- struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errors.New("not ready in time"))
	defer cancel()
	c, err := adminClient(p.dir)
	if err != nil {
		return err
	}
	if err := poll(ctx, func() bool { return serverReady(ctx, c) }); err != nil {
		return err
	}
	close(ready)
	if err := grantRights(ctx, c); err != nil {
		return err
	}
	if err := poll(ctx, func() bool { return namespaceReady(ctx, c, p.controllers) }); err != nil {
		return err
	}
	if p.extension != nil {
		return p.extension.makeReady(ctx, c)
	}
	return nil
}

func adminClient(d directory) (kubernetes.Interface, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", d.file("admin.kubeconfig"))
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1 // poll as often as we say
	cfg.Timeout = probeTimeout
	return kubernetes.NewForConfig(cfg)
}

func serverReady(ctx context.Context, c kubernetes.Interface) bool {
	_, err := c.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err == nil
}

// namespaceReady tells whether the default namespace is there and, if controllers run, has the
// service account without which no pod can be created in it.
func namespaceReady(ctx context.Context, c kubernetes.Interface, controllers bool) bool {
	if _, err := c.CoreV1().Namespaces().Get(ctx, corev1.NamespaceDefault, metav1.GetOptions{}); err != nil {
		return false
	}
	if !controllers {
		return true
	}
	_, err := c.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err == nil
}

// poll asks again and again until the answer is yes or ctx ends.
func poll(ctx context.Context, ready func() bool) error {
	t := time.NewTicker(pollInterval)
	defer t.Stop()
	for !ready() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.C:
		}
	}
	return nil
}
