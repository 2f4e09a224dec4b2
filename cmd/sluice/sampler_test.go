package main

import (
	"errors"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"sluice/proxy/fault"
	"sluice/proxy/resources"
	"sluice/proxy/see"
)

// Everybody may ask for the health checks: they tell the state without its figures, and cost no gather.
func TestHealthChecksTellOnlyTheState(t *testing.T) {
	gathers := 0
	status := see.NewSampler(see.Options{
		Gather:   func() ([]*dto.MetricFamily, error) { gathers++; return nil, nil },
		Stopping: func() bool { return false },
		Upstream: func() see.Upstream {
			return see.Upstream{Address: "https://apiserver:6443", Probed: true, Error: "refused", Fault: fault.Of(errors.New("refused"), true)}
		},
	})
	c := &components{resources: resources.New(resources.Options{}), status: status}
	if lines := c.notes(); len(lines) != 0 || gathers != 0 {
		t.Errorf("before the first sample: %q, %d gathers", lines, gathers)
	}
	status.Facts()
	if lines := c.notes(); len(lines) != 1 || lines[0] != "[+]status/away" || gathers != 1 {
		t.Errorf("%q, %d gathers", lines, gathers)
	}
}
