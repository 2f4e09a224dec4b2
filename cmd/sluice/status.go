package main

import (
	"fmt"

	"sluice/config"
	"sluice/proxy/see"
	"sluice/proxy/upstream"
)

// status returns what the status page shows. Names of callers are shown only where readers have names, too.
func (c *components) status(file *config.File, metrics *metrics, health *upstream.Health) *see.Sampler {
	o := see.Options{
		Version: version, Gather: metrics.gatherer(c.levels).Gather, Stopping: c.stopping.Load,
		Upstream: func() see.Upstream {
			u := see.Upstream{Address: c.upstream.Address(), Probed: health.Probed()}
			if err := health.Check(); err != nil {
				u.Error = err.Error()
			}
			return u
		},
	}
	if file.Admin.Access == config.AccessAuthorized {
		o.Heaviest = c.accounts.Heaviest
	}
	s := see.NewSampler(o)
	metrics.registry.MustRegister(s.Collector())
	c.background = append(c.background, s.Run)
	return s
}

// notes reports the state of Sluice, and which stores are in sync. A store that is not does not make the process
// unready: its reads are forwarded. Everybody may ask, so the lines give no figures, and gather no metrics.
func (c *components) notes(status *see.Sampler) func() []string {
	return func() []string {
		var lines []string
		if state := status.State(); state != "" {
			lines = append(lines, "[+]status/"+state)
		}
		for _, s := range c.resources.States() {
			state := "ok"
			if !s.Synced {
				state = "not in sync, reads are forwarded"
			}
			lines = append(lines, fmt.Sprintf("[+]cache-sync/%s %s", s.Resource, state))
		}
		return lines
	}
}
