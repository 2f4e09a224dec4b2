package watch

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

const (
	// historyPatience is how long a watch waits until it is known whether it has missed events before the
	// store began: the bookmark that shows it takes the apiserver a second.
	historyPatience = 3 * time.Second
)

// Access authorizes open watches.
type Access interface {
	// StillAllowed returns why the open watch r must end: its credentials are no longer valid for the
	// same user, or this user may no longer make the read; nil if neither is so. An error means that
	// the apiserver could not be asked.
	StillAllowed(r *http.Request, read *request.Read) (denied *apierrors.StatusError, err error)
	// Notify calls f, which must not block, whenever access rules have changed, until stop is called.
	Notify(f func()) (stop func())
}

// Server serves watches from the cache.
type Server struct {
	Access    Access
	Resources plan.Resources
	// Encoded bounds the memory of encoded and compressed segments; nil keeps none.
	Encoded *tree.Budget
	// CPU shares the processors among users; nil lets everybody work at once.
	CPU *flowcontrol.CPU
	// Draining is closed when open watches must end, spread over the time that Spread returns. Nil never
	// drains.
	Draining <-chan struct{}
	Spread   func() time.Duration
	Metrics  *Metrics

	recheck  atomic.Int64 // time.Duration
	rechecks rechecks
	compress atomic.Bool
}

// Set must be called before the first watch. It changes the longest time between two checks of the access of a watch unless there are too many, for open watches from
// their next check on, and whether watches are compressed that are opened from now on.
func (s *Server) Set(recheck time.Duration, compress bool) {
	if s.rechecks.soon == nil {
		s.rechecks = newRechecks()
	}
	s.recheck.Store(int64(recheck))
	s.compress.Store(compress)
}

// Watch serves a watch until it ends, or returns why it passes.
func (s *Server) Watch(w http.ResponseWriter, r *http.Request, p *plan.Plan, a *fresh.Attempt) error {
	l, err := s.open(w, r, p, a)
	if l != nil {
		l.run()
	}
	return err
}

// open opens a watch and sends its headers, or returns why it passes. It returns nil without an error for a watch
// that it has refused.
func (s *Server) open(w http.ResponseWriter, r *http.Request, p *plan.Plan, a *fresh.Attempt) (*loop, error) {
	start, err := openWatch(r.Context(), p, a)
	if errors.Is(err, outcome.Pass(resources.NotInSync)) && p.Discarded(r.Context(), s.Resources) { // it has ended meanwhile
		return nil, outcome.ErrDiscarded
	}
	if errors.Is(err, outcome.VersionBeforeHistory) && p.OnlyHere() {
		writeExpired(w, p, a)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	coding := s.coding(r, p)
	a.Head(w.Header(), p, start.reason, start.version())
	if start.initialEventsEnd == unproven {
		p.Info.Outcome.AsOf.Proof = request.ProofPending
	}
	response.SetCoding(w.Header(), coding)
	w.WriteHeader(http.StatusOK)
	p.Info.Query = nil // nobody reads it any more
	metrics := s.Metrics.of(p.Info)
	metrics.opened()
	work := s.CPU.Work(r.Context(), p.Info.Waits(), p.Examined(start.state))
	out := newWriter(w, work, coding)
	out.budget, out.encoded = s.Encoded, &p.Info.Encoded
	l := &loop{opening: start, plan: p, server: s, proofs: a.Proofs, r: r, out: out, metrics: metrics}
	if p.Format.Format().Shape == codec.Table { // its first event has the columns, which cannot be sent again
		l.columnsChanged = p.Resource.ColumnsChanged()
	}
	return l, nil
}

// opening is where a watch begins.
type opening struct {
	cursor *cache.Cursor
	reason outcome.Hit
	// state is the state of the initial events; nil for a watch without them.
	state *cache.Snapshot
	// delivered is the version up to which the client has every event.
	delivered uint64
	// initialEventsEnd is the version whose delivery ends the initial events: unproven until the
	// fence knows it, 0 once they have ended.
	initialEventsEnd uint64
}

// version returns the version that the watch starts from.
func (o *opening) version() uint64 {
	if o.state != nil {
		return o.state.Version
	}
	return o.delivered
}

// unproven is above every version that can be delivered.
const unproven = ^uint64(0)

// openWatch opens the cursor of a watch (wire.md 7.4).
func openWatch(ctx context.Context, p *plan.Plan, a *fresh.Attempt) (opening, error) {
	if !p.InitialEvents {
		return openWatchAt(ctx, p)
	}
	s := opening{reason: outcome.UpToDate}
	// A client that has asked for the bookmark at the end of the initial events knows by it that they
	// were recent: they can be sent while the fence is waited for. Others take each event as it comes.
	deferred := p.Match == plan.MatchMostRecent && p.Options.AllowBookmarks && p.Options.SendInitialEvents != nil && !a.IsRecent(p)
	var err error
	if deferred && p.Resource.Fence.Foresee(fence.Need{}) == fence.Refuse {
		return s, outcome.NotProvenInTime
	}
	if !deferred {
		if s.reason, err = a.EnsureFresh(ctx, p, false); err != nil {
			return s, err
		}
	}
	if deferred {
		a.Known = p.Resource.LastProven()
	}
	if s.state, s.cursor, err = p.Resource.Store.ListAndWatch(p.Selection.Scope); err != nil {
		return s, outcome.Pass(resources.NotInSync)
	}
	s.initialEventsEnd = s.state.Version
	if deferred {
		s.initialEventsEnd = unproven
	}
	return s, nil
}

// openWatchAt opens the cursor of a watch without initial events.
func openWatchAt(ctx context.Context, p *plan.Plan) (opening, error) {
	s := opening{reason: outcome.PastVersion, delivered: p.Version}
	var err error
	switch {
	case p.Match == plan.MatchAny:
		s.delivered = p.Resource.Store.Snapshot().Version
	case p.Match == plan.MatchMostRecent:
		current, err := p.Resource.Fence.Prove(ctx, fence.Need{What: fence.Version})
		if err != nil {
			return s, outcome.NotProvenInTime
		}
		s.delivered = current.Version
	case p.Version > p.Resource.Store.Snapshot().Version:
		s.reason = outcome.LaterVersion
	}
	s.cursor, err = p.Resource.Store.Watch(p.Selection.Scope, s.delivered)
	if errors.Is(err, cache.ErrGone) && extendHistory(ctx, p, s.delivered) {
		s.cursor, err = p.Resource.Store.Watch(p.Selection.Scope, s.delivered)
	}
	switch {
	case errors.Is(err, cache.ErrGone):
		return s, outcome.VersionBeforeHistory
	case err != nil:
		return s, outcome.Pass(resources.NotInSync)
	}
	return s, nil
}

// extendHistory reports whether the history may have come to cover version.
func extendHistory(ctx context.Context, p *plan.Plan, version uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, historyPatience)
	defer cancel()
	return p.Resource.ExtendHistory(ctx, version)
}

// coding returns the content coding of a watch. A streaming list is compressed if the apiserver compresses it (wire.md
// 8), and with an older apiserver if it is long, as a list is. Other watches are compressed only with CompressWatches.
func (s *Server) coding(r *http.Request, p *plan.Plan) splice.Coding {
	compressed := s.compress.Load()
	if !compressed && p.StreamingList() {
		compressed = p.Resource.CompressesStreamingLists || p.Estimate().Bytes >= encode.BlocksPay
	}
	if compressed {
		return response.Accepted(r.Header)
	}
	return splice.Identity
}
