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
func (e *env) measureIdle(ctx context.Context) (idle, error) {
	progress("measuring idle servers for %s", e.options.idle)
	r, err := measureIdle(ctx, e.options.idle, e.targets)
	e.background = r.CPU[apiserverName]
	return r, err
}

func measureIdle(ctx context.Context, during time.Duration, targets []*target) (r idle, err error) {
	r = idle{RSS: map[string]int64{}, CPU: map[string]float64{}}
	before := make([]time.Duration, len(targets))
	for i, t := range targets {
		if before[i], err = t.proc.cpu(); err != nil {
			return r, err
		}
	}
	if err := sleep(ctx, during); err != nil {
		return r, err
	}
	for i, t := range targets {
		after, err := t.proc.cpu()
		if err != nil {
			return r, err
		}
		r.CPU[t.name] = (after - before[i]).Seconds() / during.Seconds()
		if r.RSS[t.name], err = t.proc.resident(); err != nil {
			return r, err
		}
	}
	return r, nil
}
