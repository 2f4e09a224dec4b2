package restart

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// An apiserver that has just started refuses Sluice until it has read its access rules, for a second or
// so. A client that received a 403 would not try again: events are lost so.
func TestCallersAreNotRefusedWhenTheApiserverRestarts(t *testing.T) {
	apiserver := harness.Start(t)
	sluice := apiserver.StartSluice(t, harness.SluiceOptions{Flags: []string{"--log-level=warn"}})
	for _, resource := range []string{"configmaps", "services", "serviceaccounts"} {
		sluice.WaitForCacheSync(t, "/api/v1/"+resource, resource+".v1")
	}
	calls := startCalls(t, sluice.RESTConfig("admin-cert")) // which Sluice names in headers
	calls.awaitSuccess(t)
	for range 3 {
		apiserver.Kill()
		apiserver.Restart(t)
		calls.awaitSuccess(t)
	}
	if refusals := calls.end(); len(refusals) > 0 {
		t.Errorf("%d calls were refused, the first one: %v", len(refusals), refusals[0])
	}
	for _, resource := range []string{"configmaps", "services", "serviceaccounts"} {
		sluice.WaitForCacheSync(t, "/api/v1/"+resource, resource+".v1")
	}
}

// calls writes objects until its end, and collects the refusals.
type calls struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	succeeded int
	refused   []error
}

func startCalls(t *testing.T, config *rest.Config) *calls {
	t.Helper()
	c := &calls{}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	t.Cleanup(func() { c.end() })
	client := kubernetes.NewForConfigOrDie(config)
	c.running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "call-"}}, metav1.CreateOptions{})
			c.count(err)
		}
	})
	return c
}

func (c *calls) count(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.succeeded++
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		c.refused = append(c.refused, err)
	}
}

// awaitSuccess waits until a call that begins now has succeeded.
func (c *calls) awaitSuccess(t *testing.T) {
	t.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.succeeded
	}
	before := count()
	harness.Eventually(t, "calls succeed", func() error {
		if n := count() - before; n < 2 { // the first one may have begun before
			return fmt.Errorf("%d have", n)
		}
		return nil
	})
}

// end ends the calls and returns the refusals.
func (c *calls) end() []error {
	c.cancel()
	c.running.Wait()
	return c.refused
}
