package main

import (
	"fmt"

	"sluice/config"
	"sluice/proxy/see"
)

// sampler returns the sampler of the status page. Names of callers are shown where readers have names, too, and on this host.
func (c *components) sampler(file *config.File, metrics *metrics) *see.Sampler {
	o := see.Options{
		Version: version, Gather: metrics.registry.Gather, Stopping: c.stopping.Load,
		Upstream: func() see.Upstream {
			u := see.Upstream{Address: c.upstream.Address(), Probed: c.health.Probed(), Fault: c.health.Fault()}
			if err := c.health.Check(); err != nil {
				u.Error = err.Error()
			}
			return u
		},
	}
	o.Clients, o.Names = metrics.gateway.Clients, file.Admin.Access == config.AccessAuthorized || file.Admin.PlainHTTP()
	if o.Names {
		o.Heaviest = c.memory.Heaviest
	}
	o.Kept = c.gateway.Kept()
	o.Stalled = c.resources.Stalled
	s := see.NewSampler(o)
	metrics.registry.MustRegister(append(s.Collectors(), o.Clients.Collector(o.Names))...)
	c.followers = append(c.followers, o.Clients.Run)
	return s
}

// notes reports the state of Sluice, and which stores are in sync. A store that is not does not make the process
// unready: its reads are forwarded. Everybody may ask, so the lines give no figures, and gather no metrics.
func (c *components) notes() []string {
	var lines []string
	if state := c.status.State(); state != "" {
		lines = append(lines, "[+]status/"+state)
	}
	for _, s := range c.resources.States() {
		state := "ok"
		switch {
		case s.Synced:
		case s.Forbidden:
			state = "forbidden to Sluice, reads are forwarded"
		default:
			state = "not in sync, reads are forwarded"
		}
		lines = append(lines, fmt.Sprintf("[+]cache-sync/%s %s", s.Resource, state))
	}
	return lines
}
