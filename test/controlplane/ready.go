package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
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
	if err := retry(ctx, func() error { return get(ctx, c, "/readyz") }); err != nil {
		return err
	}
	close(ready)
	if err := retry(ctx, func() error { return grantRights(ctx, c) }); err != nil {
		return fmt.Errorf("grant rights: %w", err)
	}
	namespace := "/api/v1/namespaces/default"
	if p.controllers {
		namespace += "/serviceaccounts/default" // which pods need
	}
	if err := retry(ctx, func() error { return get(ctx, c, namespace) }); err != nil || p.extension == nil {
		return err
	}
	return p.extension.makeReady(ctx, c)
}

func adminClient(d directory) (rest.Interface, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", d.file("admin.kubeconfig"))
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1 // no client-side rate limit
	return unversioned(cfg)
}

// unversioned returns a client that requests any path.
func unversioned(cfg *rest.Config) (rest.Interface, error) {
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cfg.Timeout = probeTimeout
	return rest.UnversionedRESTClientFor(cfg)
}

// get requests an object, or whether a server is ready.
func get(ctx context.Context, c rest.Interface, path string) error {
	_, err := c.Get().AbsPath(path).DoRaw(ctx)
	return err
}

// apply creates or updates an object by server-side apply.
func apply(ctx context.Context, c rest.Interface, path, object string) error {
	return c.Patch(types.ApplyYAMLPatchType).AbsPath(path).Param("fieldManager", "controlplane").Param("force", "true").
		Body([]byte(object)).Do(ctx).Error()
}

// retry calls f until it succeeds: an apiserver that has just become ready may not respond within
// probeTimeout. It returns the last error when ctx ends.
func retry(ctx context.Context, f func() error) error {
	t := time.NewTicker(pollInterval)
	defer t.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-t.C:
		}
	}
}
