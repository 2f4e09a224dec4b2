package main

import (
	"context"
	"time"
)

// idle is what the servers use while nothing happens.
type idle struct {
	RSS map[string]int64 `json:"rssBytes"`
	// CPU is the share of a core.
	CPU map[string]float64 `json:"cpu"`
}

// rest lets the servers rest and measures that. What the control plane uses then is taken off what it
// uses under load.
func (b *bed) rest(ctx context.Context) (r idle, err error) {
	progress("resting for %s", b.options.rest)
	r = idle{RSS: map[string]int64{}, CPU: map[string]float64{}}
	before := make([]time.Duration, len(b.targets))
	for i, t := range b.targets {
		if before[i], err = t.proc.cpu(); err != nil {
			return r, err
		}
	}
	if err := sleep(ctx, b.options.rest); err != nil {
		return r, err
	}
	for i, t := range b.targets {
		after, err := t.proc.cpu()
		if err != nil {
			return r, err
		}
		r.CPU[t.name] = (after - before[i]).Seconds() / b.options.rest.Seconds()
		if r.RSS[t.name], err = t.proc.resident(); err != nil {
			return r, err
		}
	}
	b.background = r.CPU[apiserverName]
	return r, nil
}
