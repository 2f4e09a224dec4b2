package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

const (
	rollInformers = 200
	rollObjects   = 50
	// rollPace is the time between two changes.
	rollPace = 20 * time.Millisecond
)

// Whatever replaces gateways, such as a rolling restart, loses no event of any informer and invents none. An
// informer that lists again may skip intermediate states, as everywhere; one that does not sees each event.
func (e *edge) rollKeepsInformersRight(t *testing.T, replace func()) {
	w := e.newWorkload(t, false)
	for i := range rollObjects {
		w.MustCreate(t, w.configMaps(), fmt.Sprintf(`{"metadata":{"name":"m%d"}}`, i))
	}
	followers := make([]*follower, rollInformers)
	for i := range followers {
		followers[i] = e.follow(t, w.namespace)
	}
	for i, f := range followers {
		harness.Eventually(t, fmt.Sprintf("informer %d is in sync", i), func() error {
			if !f.handler.HasSynced() {
				return fmt.Errorf("it is not")
			}
			return nil
		})
	}
	truth := w.recordTruth(t)
	stop := w.changeUntilStopped(t)
	replace()
	e.k.run("rollout", "status", "--namespace="+edgeNamespace, "deployment/sluice", "--timeout=120s")
	gateways := e.waitReady(t) // those that end are gone, too
	stop()

	relists := 0
	for i, f := range followers {
		harness.Eventually(t, fmt.Sprintf("informer %d has the apiserver's state", i), func() error {
			return w.sameState(t.Context(), f.state())
		})
	}
	events := truth()
	for i, f := range followers {
		if err := f.compare(events); err != nil {
			t.Errorf("informer %d: %v", i, err)
		}
		relists += int(f.lists.Load()) - 1
	}
	t.Logf("%d informers saw %d events each, and listed %d times after their first list", rollInformers, len(events), relists)
	t.Logf("%v of %d watches are served from the cache", e.gauge(t, gateways, "sluice_watchers", "resource=configmaps"), rollInformers)
}

// recordTruth records the events of a watch at the apiserver. The returned function ends the watch when
// it has caught up with everything so far, and returns the events.
func (w workload) recordTruth(t *testing.T) func() []event {
	t.Helper()
	objects := w.Client("admin").CoreV1().ConfigMaps(w.namespace)
	list, err := objects.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := objects.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	return func() (events []event) {
		const last = "last" // only the truth contains it
		m, err := objects.Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: last}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Stop()
		for e := range stream.ResultChan() {
			object := e.Object.(*corev1.ConfigMap)
			if object.ResourceVersion == m.ResourceVersion {
				return events
			}
			events = append(events, event{e.Type, object.Name, object.ResourceVersion})
		}
		t.Fatal("the apiserver has ended the watch")
		return nil
	}
}

// changeUntilStopped creates, updates and deletes ConfigMaps at the apiserver until the returned function is
// called.
func (w workload) changeUntilStopped(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	objects := w.Client("admin").CoreV1().ConfigMaps(w.namespace)
	var changing errgroup.Group
	changing.Go(func() error {
		pace := time.NewTicker(rollPace)
		defer pace.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return nil
			case <-pace.C:
			}
			name := "m" + strconv.Itoa(rand.N(rollObjects))
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"i": strconv.Itoa(i)}}
			var err error
			if i%10 == 9 {
				if err = objects.Delete(t.Context(), name, metav1.DeleteOptions{}); err == nil {
					_, err = objects.Create(t.Context(), m, metav1.CreateOptions{})
				}
			} else {
				_, err = objects.Update(t.Context(), m, metav1.UpdateOptions{})
			}
			if err != nil {
				return err
			}
		}
	})
	return func() {
		cancel()
		if err := changing.Wait(); err != nil {
			t.Error(err)
		}
	}
}
