package serve

import (
	"errors"
	"net/http"

	"sluice/cache/fence"
	"sluice/codec/negotiate"
	"sluice/proxy/serve/outcome"
)

// latestGet reports whether the plan is of a get of the most recent state, which costs the apiserver
// next to nothing.
func (p *plan) latestGet() bool { return p.verb == negotiate.Get && p.match == matchMostRecent }

// joinGets plans a get of the most recent state. Alone it passes. Where other reads are under way,
// they share a proof if the get needs no access review, which would cost as much as the get itself.
// One that needs a review is no read that is under way: it may be denied, and must not spend the
// allowance of those that may read.
func (h *Handler) joinGets(r *http.Request, p *plan) error {
	c := h.options.Resources.Peek(p.read.GroupVersionResource)
	if c == nil {
		return outcome.GetLatest
	}
	var known bool
	if known, p.learn = h.options.Access.Recall(r, p.read); !known {
		return outcome.Forwarded{Pass: outcome.GetLatest, Allowed: p.learn}
	}
	p.underWay = c.Fence.Begin(averageBytes(c.Store.Snapshot()))
	if p.underWay.Next(fence.Question{After: fence.Arrived, Get: true, Patient: true}).Do == fence.Forward {
		return p.forward(p.underWay)
	}
	err := h.planRead(r, p)
	if reason, ok := errors.AsType[outcome.Pass](err); ok {
		p.underWay.Forward()
		return outcome.Forwarded{Pass: reason, Read: p.underWay}
	}
	return err
}

// forward returns the error of a read that passes, which is then under way until it has been forwarded.
func (p *plan) forward(read *fence.Read) error {
	read.Forward()
	if p.latestGet() {
		return outcome.Forwarded{Pass: outcome.GetLatest, Read: read, Allowed: p.learn}
	}
	return outcome.Forwarded{Pass: outcome.SmallRead, Read: read}
}
