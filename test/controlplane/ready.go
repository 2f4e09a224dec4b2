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
	// startLimit is enough for a slow machine.
	startLimit   = 2 * time.Minute
	pollInterval = 25 * time.Millisecond
	// probeTimeout limits a probe to which a starting apiserver never responds.
	probeTimeout = 5 * time.Second
)

// makeReady waits until the apiserver is ready, including the RBAC bootstrap, closes ready, grants
// Sluice its rights, and waits until objects can be created.
func (p components) makeReady(ctx context.Context, ready chan<- struct{}) error {
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
	if err := retry(ctx, func() error { return grantRights(ctx, c) }); err != nil {
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
	cfg.QPS = -1 // no client-side rate limit
	cfg.Timeout = probeTimeout
	return kubernetes.NewForConfig(cfg)
}

func serverReady(ctx context.Context, c kubernetes.Interface) bool {
	_, err := c.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err == nil
}

// namespaceReady reports whether the default namespace exists and, with controllers, has the service
// account that pods need.
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

// retry calls f until it succeeds: an apiserver that has just become ready may not respond within
// probeTimeout. It returns the last error when ctx ends.
func retry(ctx context.Context, f func() error) error {
	var last error
	err := poll(ctx, func() bool {
		last = f()
		return last == nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// poll polls until ready returns true, or returns the cause when ctx ends.
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
