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
func (w *world) updatePod(ctx context.Context) error {
	n := w.sequence.Add(1)
	return w.patch(ctx, w.paths[n%int64(len(w.paths))], n)
}

// updateOther changes an object of another resource: in a cluster the resource version rises without the objects that
// are read.
func (w *world) updateOther(ctx context.Context) error {
	return w.patch(ctx, "/api/v1/namespaces/default", w.sequence.Add(1))
}

func (w *world) updating(pods bool) func(context.Context) error {
	if pods {
		return w.updatePod
	}
	return w.updateOther
}

// patch changes one object.
func (w *world) patch(ctx context.Context, path string, sequence int64) error {
	got, err := w.plane.Raw(user).Do(ctx, harness.Request{
		Method: http.MethodPatch,
		Path:   path + "?fieldManager=bench",
		Header: http.Header{"Content-Type": {"application/merge-patch+json"}, "Accept": {protobufType}},
		Body:   fmt.Appendf(nil, `{"metadata":{"annotations":{"bench/sequence":"%d-%06d"}}}`, start, sequence),
	})
	if err == nil && got.Status != http.StatusOK {
		err = fmt.Errorf("update: %d: %.200s", got.Status, got.Body)
	}
	return err
}

// scaledUpdates returns the pods that are updated with --scale: those of the first namespace.
func (w *world) scaledUpdates() []*corev1.Pod {
	return harness.Pods(min(perNamespace, w.pods.count), scaledNamespace(0), 0)
}

// storePod writes a pod with another annotation than before straight into etcd: the namespaces of --scale do not
// exist, so that the apiserver would refuse it.
func (w *world) storePod(ctx context.Context, p *corev1.Pod, sequence int) error {
	pod := p.DeepCopy()
	pod.ResourceVersion = ""
	pod.Annotations["bench/sequence"] = fmt.Sprintf("%d-%06d", start, sequence)
	return store(ctx, w.plane, "/registry/pods/"+pod.Namespace+"/"+pod.Name, pod)
}

// pace calls update at a rate and returns the time of each acknowledgement.
func pace(ctx context.Context, rate, updates int, update func(context.Context) error) ([]time.Time, error) {
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	var acknowledged []time.Time
	for len(acknowledged) < updates {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err := update(ctx); err != nil {
			return nil, err
		}
		acknowledged = append(acknowledged, time.Now())
	}
	return acknowledged, nil
}

// updatesAlone measures a round of updates while only Sluice watches.
func (w *world) updatesAlone(ctx context.Context, pods bool) (_ *sample, err error) {
	defer fails(&err)
	m := must(newMeter(w.background, w.targets()...))
	must(pace(ctx, w.rate, w.updates, w.updating(pods)))
	used, err := m.read()
	return &sample{usage: used}, err
}

// priceUpdates measures the control plane's CPU for each update of a load, once for the pods that there are.
func (w *world) priceUpdates(ctx context.Context, l load) error {
	if _, known := w.updateCost[l.pods]; known || l.rate == 0 {
		return nil
	}
	alone, err := w.updatesAlone(ctx, l.pods)
	if err == nil {
		w.updateCost[l.pods] = alone.cpu[apiserverName] / time.Duration(w.updates)
	}
	return err
}

// version returns the apiserver's current resource version.
func (w *world) version(ctx context.Context) (string, error) {
	list, err := w.plane.Client(user).CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	return list.ResourceVersion, nil
}

// churn is updates in the background.
type churn struct {
	cancel context.CancelFunc
	done   chan struct{} // closed by the goroutine that updates
	n      int           // acknowledged updates; like err, valid after done
	err    error
}

// startChurn calls update, rate times per second, until stop. A rate of zero means never.
func startChurn(ctx context.Context, rate int, update func(context.Context) error) *churn {
	ctx, cancel := context.WithCancel(ctx)
	c := &churn{cancel: cancel, done: make(chan struct{})}
	if rate == 0 {
		close(c.done)
		return c
	}
	go func() {
		defer close(c.done)
		_, c.err = pace(ctx, rate, math.MaxInt, func(ctx context.Context) error {
			err := update(ctx)
			if err == nil {
				c.n++
			}
			return err
		})
		if errors.Is(c.err, context.Canceled) {
			c.err = nil // the update may have been applied; one does not matter
		}
	}()
	return c
}

// stop ends the updates and returns their number.
func (c *churn) stop() (int, error) {
	c.cancel()
	<-c.done
	return c.n, c.err
}
