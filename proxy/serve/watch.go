package serve

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/codec"
	"sluice/codec/splice"
	"sluice/proxy/resources"
	"sluice/proxy/response"
)

const (
	// shortestLife is the least that a watch lives which names no timeout; it
	// ends at a random moment between this and twice this, as the apiserver's.
	shortestLife = 30 * time.Minute
	// passedLife is about how long a watch may live that is passed because
	// the history here does not reach back to its start: long enough to bring
	// it a bookmark, from which it can be served.
	passedLife = 75 * time.Second
)

// watch serves a watch until it ends, or returns why it cannot.
func (s *Handler) watch(w http.ResponseWriter, r *http.Request, p *plan) string {
	t := &stream{
		reads: s, r: r, out: newOutlet(w),
		encoder: p.encoder, store: p.collection.Store, fence: p.collection.Fence,
		selection: p.selection, outdated: p.outdated(), bookmarks: p.options.AllowBookmarks, unmarked: p.info.LegacyWatchPath,
		metrics: s.options.Metrics.watcher(p.info),
	}
	how, reason := t.open(r, p)
	if reason != "" {
		return reason
	}
	defer t.cursor.Close()
	t.coding = s.coding(r, p, t.state)
	p.begin(w.Header(), how)
	response.SetCoding(w.Header(), t.coding)
	w.WriteHeader(http.StatusOK)
	t.metrics.open()
	defer t.metrics.close()
	t.run(p.options.Timeout)
	return ""
}

// outdated returns the channel that ends the watch because of what it was told
// first: the columns, if it is of Tables.
func (p *plan) outdated() <-chan struct{} {
	if p.encoder.Format().Shape != codec.Table {
		return nil
	}
	return p.collection.ColumnsChanged()
}

// initial reports whether the watch begins with the state. Without a version,
// or with any, it does by default (wire.md 7.2).
func (p *plan) initial() bool {
	if wish := p.options.SendInitialEvents; wish != nil {
		return *wish
	}
	return p.version == 0
}

// coding returns how the watch is compressed. The apiserver compresses none.
// Here streaming lists are as lists are, for clients that take it; other watches
// only where that is configured.
func (s *Handler) coding(r *http.Request, p *plan, state *cache.Snapshot) splice.Coding {
	streamed := p.options.SendInitialEvents != nil && state != nil && stored(state, p.selection.keys) >= splicePays
	if streamed || s.options.CompressWatches {
		return response.Accepted(r.Header)
	}
	return splice.Identity
}

// open takes the state or the place in history from which the watch starts
// (wire.md 7.4).
func (t *stream) open(r *http.Request, p *plan) (how, reason string) {
	var err error
	switch recent := p.options.ResourceVersion == ""; {
	case p.initial() && recent && t.bookmarks && !t.unmarked:
		// The state goes out at once; the bookmark that ends it waits.
		t.unproven = true
		how = servedFresh
		t.state, t.cursor, err = t.store.ListAndWatch(t.selection.scope)
	case p.initial() && (recent || p.version > t.store.Snapshot().Version):
		if how, reason = p.freshen(r.Context(), p.version, false); reason != "" {
			return "", reason
		}
		t.state, t.cursor, err = t.store.ListAndWatch(t.selection.scope)
	case p.initial():
		how = servedAny
		t.state, t.cursor, err = t.store.ListAndWatch(t.selection.scope)
	default:
		return t.openWithoutState(r, p)
	}
	return how, t.refusal(err)
}

func (t *stream) openWithoutState(r *http.Request, p *plan) (how, reason string) {
	version := p.version
	var err error
	switch p.options.ResourceVersion {
	case "0":
		version = t.store.Snapshot().Version
	case "":
		if version, err = t.fence.CurrentVersion(r.Context()); err != nil {
			return "", reasonUnproven
		}
	}
	t.sent = version
	t.cursor, err = t.store.Watch(t.selection.scope, version)
	if errors.Is(err, cache.ErrGone) {
		shorten(r, p.options.Timeout)
	}
	return servedPast, t.refusal(err)
}

func (t *stream) refusal(err error) string {
	switch {
	case errors.Is(err, cache.ErrGone):
		return reasonHistory
	case err != nil:
		return resources.NotInSync
	}
	return ""
}

// shorten makes a watch that is passed end early. Every server may end a watch
// at any time; the client comes back with a newer version, which is served
// here. Otherwise each client that was connected before this process started
// would keep a watch of its own upstream for half an hour and more.
func shorten(r *http.Request, timeout time.Duration) {
	life := passedLife + rand.N(passedLife)
	if timeout > 0 && timeout <= life {
		return
	}
	query := r.URL.Query()
	query.Set("timeoutSeconds", strconv.Itoa(int(life.Seconds())))
	r.URL.RawQuery = query.Encode()
}
