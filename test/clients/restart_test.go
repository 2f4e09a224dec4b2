package clients

import (
	"fmt"
	"testing"

	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"

	"sluice/test/harness"
)

// The apiserver is killed twice while watches are open and writers run.
func TestInformersConvergeAfterTheApiserverIsKilled(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false)
	apiserver := harness.Start(t)
	sluice := apiserver.StartSluice(t)
	namespace := apiserver.Namespace(t)
	sluice.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	var all []*informer
	for range 10 {
		all = append(all, startInformer(t, sluice.Client("admin"), namespace))
	}
	writeFor(t, apiserver, namespace, 3, func() {
		waitForWrites(t, all, 50)
		for range 2 {
			apiserver.Kill()
			apiserver.Restart(t)
			waitForWrites(t, all, 50)
		}
	})
	converge(t, apiserver, namespace, all)
	for _, i := range all {
		i.end() // before the control plane stops
	}
}

// waitForWrites waits until each informer has received so many more changes.
func waitForWrites(t *testing.T, all []*informer, more int) {
	t.Helper()
	goal := make([]int, len(all))
	for n, i := range all {
		goal[n] = i.changes() + more
	}
	harness.Eventually(t, "changes reach the informers", func() error {
		for n, i := range all {
			if have := i.changes(); have < goal[n] {
				return fmt.Errorf("informer %d has received %d of %d changes", n, have, goal[n])
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
