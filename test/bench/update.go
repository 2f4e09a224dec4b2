package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// start makes the updates of this run differ from an earlier run's on the same directory, so that
// each is a change.
var start = time.Now().Unix()

// updatePod changes the next pod at the apiserver.
func (w *world) updatePod(ctx context.Context) {
	n := w.sequence.Add(1)
	w.patch(ctx, w.paths[n%int64(len(w.paths))], n)
}

// updateOther changes an object of another resource: in a cluster the resource version rises without the objects that
// are read.
func (w *world) updateOther(ctx context.Context) {
	w.patch(ctx, "/api/v1/namespaces/default", w.sequence.Add(1))
}

func (w *world) updating(pods bool) func(context.Context) {
	if pods {
		return w.updatePod
	}
	return w.updateOther
}

// patch changes one object.
func (w *world) patch(ctx context.Context, path string, sequence int64) {
	w.change(ctx, path, mergePatch, fmt.Appendf(nil, `{"metadata":{"annotations":{"bench/sequence":"%d-%06d"}}}`, start, sequence))
}

const mergePatch = "application/merge-patch+json"

// change patches an object.
func (w *world) change(ctx context.Context, path, patchType string, patch []byte) {
	got := must(w.plane.Raw(user).Do(ctx, harness.Request{
		Method: http.MethodPatch,
		Path:   path + "?fieldManager=bench",
		Header: http.Header{"Content-Type": {patchType}, "Accept": {protobufType}},
		Body:   patch,
	}))
	if got.Status != http.StatusOK {
		check(fmt.Errorf("update: %d: %.200s", got.Status, got.Body))
	}
}

// scaledUpdates returns the pods that are updated with --scale: those of the first namespace.
func (w *world) scaledUpdates() []*corev1.Pod {
	return harness.Pods(min(perNamespace, w.pods.count), scaledNamespace(0), 0)
}

// storePod writes a pod with another annotation than before straight into etcd: the namespaces of --scale do not
// exist, so that the apiserver would refuse it.
func (w *world) storePod(ctx context.Context, p *corev1.Pod, sequence int) {
	pod := p.DeepCopy()
	pod.ResourceVersion = ""
	pod.Annotations["bench/sequence"] = fmt.Sprintf("%d-%06d", start, sequence)
	store(ctx, w.plane, "/registry/pods/"+pod.Namespace+"/"+pod.Name, pod)
}

// pace calls update at a rate and returns the time of each acknowledgement.
func pace(ctx context.Context, rate, updates int, update func(context.Context)) (acknowledged []time.Time) {
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	for len(acknowledged) < updates {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			check(ctx.Err())
		}
		update(ctx)
		acknowledged = append(acknowledged, time.Now())
	}
	return acknowledged
}

// updatesAlone measures a round of updates while only Sluice watches.
func (w *world) updatesAlone(ctx context.Context, pods bool) *sample {
	m := w.meter()
	pace(ctx, w.rate, w.updates, w.updating(pods))
	return &sample{usage: m.read()}
}

// priceUpdates measures the control plane's CPU for each update of a load, once for the pods that there are.
func (w *world) priceUpdates(ctx context.Context, l load) {
	if _, known := w.updateCost[l.pods]; !known && l.rate > 0 {
		w.updateCost[l.pods] = w.updatesAlone(ctx, l.pods).cpu[apiserverName] / time.Duration(w.updates)
	}
}

// version returns the apiserver's current resource version.
func (w *world) version(ctx context.Context) string {
	return must(w.plane.Client(user).CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})).ResourceVersion
}

// churn calls update, rate times per second, until the function that it returns is called, which returns the number of
// updates. A rate of zero means never.
func churn(ctx context.Context, rate int, update func(context.Context)) (stop func() int) {
	if rate == 0 {
		return func() int { return 0 }
	}
	ctx, cancel := context.WithCancel(ctx)
	done, n := make(chan error, 1), 0
	go func() {
		done <- try(func() {
			pace(ctx, rate, math.MaxInt, func(ctx context.Context) {
				update(ctx)
				n++
			})
		})
	}()
	return func() int {
		cancel()
		// The update that the end cancels may have been applied; one does not matter.
		if err := <-done; !errors.Is(err, context.Canceled) {
			check(err)
		}
		return n
	}
}
