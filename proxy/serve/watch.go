package serve

import (
	"context"
	"errors"
	"net/http"

	"sluice/cache"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/proxy/resources"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/outcome"
)

// watch serves a watch until it ends, or returns why it passes.
func (h *Handler) watch(w http.ResponseWriter, r *http.Request, p *plan) error {
	l, err := h.newWatchLoop(w, r, p)
	if l != nil {
		l.run()
	}
	return err
}

// newWatchLoop opens a watch and sends its headers, or returns why it passes. It returns nil without an error for a watch
// that it has refused.
func (h *Handler) newWatchLoop(w http.ResponseWriter, r *http.Request, p *plan) (*watchLoop, error) {
	start, err := p.openWatch(r.Context())
	if errors.Is(err, outcome.Pass(resources.NotInSync)) && p.discarded(r.Context(), h.options.Resources) { // it has ended meanwhile
		return nil, outcome.ErrDiscarded
	}
	if errors.Is(err, outcome.VersionBeforeHistory) && p.selection.shards != nil {
		p.writeExpired(w)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	coding := h.watchCoding(r, p, start.state)
	p.writeHeaders(w.Header(), start.reason)
	response.SetCoding(w.Header(), coding)
	w.WriteHeader(http.StatusOK)
	metrics := h.options.Metrics.watch(p.info)
	metrics.opened()
	work := h.options.CPU.Work(r.Context(), p.info.Account.Key, p.examined(start.state))
	out := newWatchWriter(w, work, coding)
	out.encoded = &p.info.Encoded
	return &watchLoop{
		watchStart: start, plan: p, options: &h.options, r: r, recheckEvery: &h.recheck,
		out: out, columnsChanged: p.columnsChanged(), metrics: metrics,
	}, nil
}

// watchStart is where a watch begins.
type watchStart struct {
	cursor *cache.Cursor
	reason outcome.Hit
	// state is what the initial events show; nil for a watch without them.
	state *cache.Snapshot
	// delivered is the version up to which the client has every event.
	delivered uint64
	// initialEventsEnd is the version whose delivery ends the initial events: unproven until the
	// fence knows it, 0 once they have ended.
	initialEventsEnd uint64
}

// unproven is above every version that can be delivered.
const unproven = ^uint64(0)

// openWatch opens the cursor of a watch (wire.md 7.4).
func (p *plan) openWatch(ctx context.Context) (watchStart, error) {
	if !p.initialEvents {
		return p.openWatchAt(ctx)
	}
	s := watchStart{reason: outcome.UpToDate}
	// A client that has asked for the bookmark at the end of the initial events knows by it that they
	// were recent: they can be sent while the fence is waited for. Others take each event as it comes.
	_, recent := p.attempt.isRecent(p.resource)
	deferred := p.match == matchMostRecent && p.options.AllowBookmarks && p.options.SendInitialEvents != nil && !recent
	var err error
	if deferred && p.resource.Fence.Stalled() {
		return s, outcome.NotProvenInTime
	}
	if !deferred {
		if s.reason, err = p.ensureFresh(ctx, false); err != nil {
			return s, err
		}
	}
	if s.state, s.cursor, err = p.resource.Store.ListAndWatch(p.selection.scope); err != nil {
		return s, outcome.Pass(resources.NotInSync)
	}
	s.initialEventsEnd = s.state.Version
	if deferred {
		s.initialEventsEnd = unproven
	}
	return s, nil
}

// openWatchAt opens the cursor of a watch without initial events.
func (p *plan) openWatchAt(ctx context.Context) (watchStart, error) {
	s := watchStart{reason: outcome.PastVersion, delivered: p.version}
	var err error
	switch p.match {
	case matchAny:
		s.delivered = p.resource.Store.Snapshot().Version
	case matchMostRecent:
		if s.delivered, err = p.resource.Fence.CurrentVersion(ctx); err != nil {
			return s, outcome.NotProvenInTime
		}
	}
	s.cursor, err = p.resource.Store.Watch(p.selection.scope, s.delivered)
	if errors.Is(err, cache.ErrGone) && p.extendHistory(ctx, s.delivered) {
		s.cursor, err = p.resource.Store.Watch(p.selection.scope, s.delivered)
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
func (p *plan) extendHistory(ctx context.Context, version uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, historyPatience)
	defer cancel()
	return p.resource.ExtendHistory(ctx, version)
}

// watchCoding returns the content coding of a watch. A streaming list is compressed if the apiserver compresses it (wire.md
// 8), and before an older apiserver if it is long, as a list is. Other watches are compressed only with CompressWatches.
func (h *Handler) watchCoding(r *http.Request, p *plan, state *cache.Snapshot) splice.Coding {
	compressed := h.compressWatches.Load()
	if !compressed && p.streamingList() {
		compressed = p.resource.CompressesStreamingLists || storedBytes(state, p.selection.keys) >= encode.BlocksPay
	}
	if compressed {
		return response.Accepted(r.Header)
	}
	return splice.Identity
}

// columnsChanged returns the channel whose closing ends a watch of Tables: its first event has the
// column definitions, which cannot be sent again.
func (p *plan) columnsChanged() <-chan struct{} {
	if p.encoder.Format().Shape != codec.Table {
		return nil
	}
	return p.resource.ColumnsChanged()
}
