package clients

import (
	"fmt"
	"testing"

	"sluice/test/harness"
)

// The apiserver dies twice under open watches while writers go on: when it is
// back, every informer holds its state, and none has seen an object go back in
// time.
func TestInformersSurviveTheApiserver(t *testing.T) {
	listThenWatch(t)
	plane := harness.Start(t)
	sluice := plane.StartSluice(t)
	namespace := plane.Namespace(t)
	sluice.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	var all []*informer
	for range 10 {
		all = append(all, startInformer(t, sluice.Client("admin"), namespace))
	}
	writeFor(t, plane, namespace, 3, func() {
		waitForWrites(t, all, 50)
		for range 2 {
			plane.Kill()
			plane.Restart(t)
			waitForWrites(t, all, 50)
		}
	})
	converge(t, plane, namespace, all)
	for _, i := range all {
		i.end() // before the control plane is
	}
}

// waitForWrites waits until each informer has seen so many more changes.
func waitForWrites(t *testing.T, all []*informer, more int) {
	t.Helper()
	goal := make([]int, len(all))
	for n, i := range all {
		goal[n] = i.changes() + more
	}
	harness.Eventually(t, "changes reach the informers", func() error {
		for n, i := range all {
			if have := i.changes(); have < goal[n] {
				return fmt.Errorf("informer %d saw %d of %d changes", n, have, goal[n])
			}
		}
		return nil
	})
}

func (i *informer) changes() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.seen
}
