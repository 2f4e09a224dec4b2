package main

import (
	"context"
	"time"
)

// idle is the resource usage of the servers without requests.
type idle struct {
	RSS map[string]int64 `json:"rssBytes"`
	// CPU is a share of a core.
	CPU map[string]float64 `json:"cpu"`
}

// measureIdle measures the servers without requests. Meters subtract the CPU that the control plane
// uses then.
func (e *env) measureIdle(ctx context.Context) (r idle, err error) {
	progress("measuring idle servers for %s", e.options.idle)
	r = idle{RSS: map[string]int64{}, CPU: map[string]float64{}}
	before := make([]time.Duration, len(e.targets))
	for i, t := range e.targets {
		if before[i], err = t.proc.cpu(); err != nil {
			return r, err
		}
	}
	if err := sleep(ctx, e.options.idle); err != nil {
		return r, err
	}
	for i, t := range e.targets {
		after, err := t.proc.cpu()
		if err != nil {
			return r, err
		}
		r.CPU[t.name] = (after - before[i]).Seconds() / e.options.idle.Seconds()
		if r.RSS[t.name], err = t.proc.resident(); err != nil {
			return r, err
		}
	}
	e.background = r.CPU[apiserverName]
	return r, nil
}
