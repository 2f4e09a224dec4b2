package restart

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"sluice/test/harness"
)

// An apiserver that has just started refuses Sluice until it has read its access rules, for a second or so. No client receives
// that 403: it would not try again, and events are lost so. The apiserver is back before Sluice holds it for away, so that
// calls reach it at once.
func TestCallersAreNotRefusedWhenTheApiserverRestarts(t *testing.T) {
	apiserver := harness.Start(t)
	sluice := apiserver.StartSluice(t, harness.SluiceOptions{Flags: []string{"--log-level=error"}})
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	caller := sluice.Raw("admin-cert") // whom Sluice names in headers
	call := harness.Request{
		Method: http.MethodPost, Path: "/api/v1/namespaces/default/serviceaccounts",
		Body: []byte(`{"metadata":{"generateName":"call-"}}`), Header: http.Header{"Content-Type": {"application/json"}},
	}
	caller.AwaitStatus(t, http.StatusCreated, call)
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	calls.Go(func() {
		for pause := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-pause.C {
			a, err := caller.Do(ctx, call)
			if err == nil && (a.Status == http.StatusForbidden || a.Status == http.StatusUnauthorized) {
				t.Errorf("a call is refused: %d %s", a.Status, a.Body)
			}
		}
	})
	for range 3 {
		apiserver.Kill()
		apiserver.Restart(t)
		caller.AwaitStatus(t, http.StatusCreated, call)
	}
}
