package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

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
	w.change(ctx, path, mergePatch, fmt.Appendf(nil, `{"metadata":{"annotations":{"bench/sequence":"%06d"}}}`, sequence))
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

// priceUpdates measures once the control plane's CPU for each update, of pods or others, while only Sluice watches.
func (w *world) priceUpdates(ctx context.Context, pods bool) {
	if _, known := w.updateCost[pods]; !known {
		m := w.meter()
		pace(ctx, w.rate, w.updates, w.updating(pods))
		w.updateCost[pods] = m.read().cpu[apiserverName] / time.Duration(w.updates)
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
