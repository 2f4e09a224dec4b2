package restart

import (
	"net/url"
	"testing"

	"sluice/test/harness"
	"sluice/test/outage"
)

// An apiserver that is away costs each request a moment, whatever the fault, and no watch.
func TestClientsOutliveAnApiserverThatIsAway(t *testing.T) {
	plane := harness.Start(t)
	sluice := plane.StartSluice(t, harness.SluiceOptions{Flags: []string{"--log-level=error"}})
	u, err := url.Parse(plane.URL)
	if err != nil {
		t.Fatal(err)
	}
	o := outage.Outage{Plane: plane, Sluice: sluice}
	for _, fault := range outage.Faults("-o lo -p tcp --dport "+u.Port(), "-o lo -p tcp --sport "+u.Port()) {
		t.Run(fault.Name, func(t *testing.T) { o.TestPromises(t, fault) })
	}
}
