package restart

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"sluice/test/harness"
	"sluice/test/outage"
)

// An apiserver that is away costs each request a moment, whatever the fault, and no watch. One that has just started refuses
// Sluice until it has read its access rules, for a second or so. No client receives that 403: it would not try again, and events
// are lost so.
func TestClientsOutliveAnApiserverThatIsAway(t *testing.T) {
	plane := harness.Start(t)
	sluice := plane.StartSluice(t, harness.SluiceOptions{Flags: []string{"--log-level=error"}})
	u, err := url.Parse(plane.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	calls.Go(func() {
		for pause := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-pause.C {
			const path, object = "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"generateName":"call-"}}`
			a, _ := sluice.Raw("admin-cert").Write(ctx, http.MethodPost, path, object) // a caller that Sluice names in headers
			if a.Status == http.StatusForbidden || a.Status == http.StatusUnauthorized {
				t.Errorf("a call is refused: %d %s", a.Status, a.Body)
			}
		}
	})
	o := outage.Outage{Plane: plane, Sluice: sluice}
	for _, fault := range outage.Faults("-o lo -p tcp --dport "+u.Port(), "-o lo -p tcp --sport "+u.Port()) {
		t.Run(fault.Name, func(t *testing.T) { o.TestPromises(t, fault) })
	}
}
