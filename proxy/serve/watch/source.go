package watch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/proxy/clients"
	"sluice/proxy/resources"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// historyPatience is how long a watch waits until it is known whether it has missed events before the store began: the
// bookmark that shows it takes the apiserver a second.
const historyPatience = 3 * time.Second

// unproven is above every version that can be delivered.
const unproven = ^uint64(0)

// source is what a watch follows: the events of its scope, from a state or a version on.
type source struct {
	plan   *plan.Plan
	cursor *cache.Cursor
	reason outcome.Hit
	// state is the state of the initial events; nil for a watch without them, and once they are written.
	state *cache.Snapshot
	// delivered is the version up to which the client has every event, and reached the same once it has been written.
	delivered uint64
	reached   atomic.Uint64
	// initialEventsEnd is the version whose delivery ends the initial events: unproven until the
	// fence knows it, 0 once they have ended.
	initialEventsEnd uint64

	proofs      fresh.Proofs
	proof       <-chan proof // that the initial events wait for; nil for none
	cancelProof context.CancelFunc
	proofLimit  time.Time        // until when the initial events are proven recent; zero if nothing was to be proven
	inventory   *cache.Inventory // of the scope of this watch, to prove its initial events; nil if none was taken
}

// open opens the cursor of a watch (wire.md 7.4), or returns why the watch passes.
func open(ctx context.Context, p *plan.Plan, a *fresh.Attempt) (*source, error) {
	s := &source{plan: p, proofs: a.Proofs}
	var err error
	if p.InitialEvents {
		err = s.openState(ctx, a)
	} else {
		err = s.openVersion(ctx)
	}
	s.reached.Store(s.version())
	return s, err
}

// openState opens the cursor of a watch with initial events.
func (s *source) openState(ctx context.Context, a *fresh.Attempt) (err error) {
	p := s.plan
	// A client that has asked for the bookmark at the end of the initial events knows by it that they
	// were recent: they can be sent while the fence is waited for. Others take each event as it comes.
	deferred := p.Match == plan.MatchMostRecent && p.Options.AllowBookmarks && p.Options.SendInitialEvents != nil && !p.ProvenFirst && !a.IsRecent(p)
	switch {
	case !deferred:
		if s.reason, err = a.EnsureFresh(ctx, p, false); err != nil {
			return err
		}
	case p.Resource.Fence.Foresee(fence.Need{}) == fence.Refuse:
		return outcome.NotProvenInTime
	default:
		s.reason, a.Known = outcome.UpToDate, p.Resource.LastProven()
	}
	if s.state, s.cursor, err = p.Resource.Store.ListAndWatch(p.Selection.Scope); err != nil {
		return outcome.Pass(resources.NotInSync)
	}
	p.ShownAt(s.state.Version)
	s.initialEventsEnd = s.state.Version
	if deferred {
		s.initialEventsEnd = unproven
	}
	return nil
}

// openVersion opens the cursor of a watch without initial events.
func (s *source) openVersion(ctx context.Context) error {
	p, store := s.plan, s.plan.Resource.Store
	s.reason, s.delivered = outcome.PastVersion, p.Version
	switch {
	case p.Match == plan.MatchAny:
		s.delivered = store.Snapshot().Version
	case p.Match == plan.MatchMostRecent:
		current, err := p.Resource.Fence.Prove(ctx, fence.Need{What: fence.Version})
		if err != nil {
			return outcome.NotProvenInTime
		}
		s.delivered = current.Version
	case p.Version > store.Snapshot().Version:
		s.reason = outcome.LaterVersion
	}
	var err error
	if s.cursor, err = store.Watch(p.Selection.Scope, s.delivered); errors.Is(err, cache.ErrGone) && s.extendHistory(ctx) {
		s.cursor, err = store.Watch(p.Selection.Scope, s.delivered)
	}
	switch {
	case errors.Is(err, cache.ErrGone):
		return outcome.VersionBeforeHistory
	case err != nil:
		return outcome.Pass(resources.NotInSync)
	}
	return nil
}

// extendHistory reports whether the history may have come to cover the version of the watch.
func (s *source) extendHistory(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, historyPatience)
	defer cancel()
	return s.plan.Resource.ExtendHistory(ctx, s.delivered)
}

// version returns the version that the watch starts from.
func (s *source) version() uint64 {
	if s.state != nil {
		return s.state.Version
	}
	return s.delivered
}

// lag returns how far the client is behind. Others call it.
func (s *source) lag() clients.Lag {
	events, since := s.cursor.Behind(s.reached.Load())
	if events == 0 {
		return clients.Lag{}
	}
	return clients.Lag{Events: events, Oldest: time.Since(since)}
}
