package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"sluice/test/harness"
)

// feedTime is how long a feed lasts.
const feedTime = 3 * time.Second

// feedTo updates the pods of one namespace so many times per second, while one client watches them at the
// target, and measures until it has received all events.
func (e *scaleEnv) feedTo(ctx context.Context, t *target, rate int) (*feedLine, error) {
	progress("feed of %d events/s to the %s", rate, t.name)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	version, err := currentVersion(ctx, e.controlPlane)
	if err != nil {
		return nil, err
	}
	raw, err := t.connection(0)
	if err != nil {
		return nil, err
	}
	resp, err := raw.Open(ctx, harness.Request{
		Path:   fmt.Sprintf("/api/v1/namespaces/%s/pods?watch=true&timeoutSeconds=3600&resourceVersion=%s", scaledNamespace(0), version),
		Header: http.Header{"Accept": {protobufType}},
	})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("watch: %s", resp.Status)
	}
	m, err := newMeter(e.background, e.targets()...)
	if err != nil {
		return nil, err
	}
	line := &feedLine{Target: t.name, Rate: rate, Events: int(float64(rate) * feedTime.Seconds())}
	begin := time.Now()
	read := make(chan error, 1)
	go func() { read <- readFrames(resp.Body, newFrames(), line.Events) }()
	if err := e.writeFeed(ctx, line.Events, rate); err != nil {
		return nil, err
	}
	written := time.Since(begin)
	defer time.AfterFunc(deliverLimit, cancel).Stop()
	if err := <-read; err != nil {
		line.Failed = err.Error()
	}
	used, err := m.read()
	if err != nil {
		return nil, err
	}
	events := float64(line.Events)
	line.Written, line.Behind = events/written.Seconds(), (time.Since(begin) - written).Seconds()
	line.CPU, line.Plane = used.cpu[t.name].Seconds()/events, used.cpu[apiserverName].Seconds()/events
	return line, nil
}

// writeFeed updates pods.
func (e *scaleEnv) writeFeed(ctx context.Context, n, rate int) error {
	pods := e.updated()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(storers)
	begin := time.Now()
	for i := range n {
		if err := sleep(ctx, time.Until(begin.Add(time.Duration(i)*time.Second/time.Duration(rate)))); err != nil {
			break
		}
		g.Go(func() error { return e.updatePod(ctx, pods[i%len(pods)], i) })
	}
	return g.Wait()
}

// updated returns the pods that are updated: those of the first namespace.
func (e *scaleEnv) updated() []*corev1.Pod {
	return harness.Pods(min(perNamespace, e.pods), scaledNamespace(0), 0)
}

// updatePod writes a pod with another annotation than before straight into etcd: the namespace does not
// exist, so that the apiserver would refuse it.
func (e *scaleEnv) updatePod(ctx context.Context, p *corev1.Pod, sequence int) error {
	pod := p.DeepCopy()
	pod.ResourceVersion = ""
	pod.Annotations["bench/sequence"] = fmt.Sprintf("%d-%06d", start, sequence)
	return store(ctx, e.controlPlane, "/registry/pods/"+pod.Namespace+"/"+pod.Name, pod)
}

// readFrames reads n frames.
func readFrames(in io.Reader, frames counter, n int) error {
	buf := make([]byte, 64<<10)
	for n > 0 {
		got, err := in.Read(buf)
		if n -= frames.count(buf[:got]); err != nil && n > 0 {
			return fmt.Errorf("%d events before the end of the watch: %w", n, err)
		}
	}
	return nil
}
