package serve

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"sluice/cache"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
	"sluice/proxy/serve/watch"
	"sluice/proxy/wait"
)

const (
	// comeBackSpread is the time over which passed watches are ended whose resource can be served now, so
	// that their clients do not come back together.
	comeBackSpread = time.Second
	// historyTries is how often awaitHistory tries, and historyRetry the time between two tries.
	historyTries = 5
	historyRetry = 3 * time.Second
	// firstTry is when it is first tried again whether the cache may serve a watch, and rarestTry the longest
	// time between two tries.
	// An access that the apiserver has allowed is known for longer than the first try takes.
	firstTry  = 5 * time.Second
	rarestTry = 5 * time.Minute
	// unmarkedFor is how long initial events whose end nothing marks are taken to last.
	unmarkedFor = 2 * time.Second
)

// passWatch passes a watch to the apiserver. It ends between two events when the gateway drains, and
// once the cache may serve it if it passes for a reason that does not last.
//
// It gives its places back at the end of its initial events.
func (h *Handler) passWatch(w http.ResponseWriter, r *http.Request, info *request.Info, reason outcome.Pass, leave func()) {
	p := newPassedWatch(&h.options, info, reason)
	p.leave = leave
	unreviewed := info.Unreviewed()
	switch {
	case unreviewed && reason == outcome.NotReviewed: // once its token can be reviewed, its client has to present it again
		p.again = func(ctx context.Context) error {
			if !info.ReviewAgain(ctx) {
				return outcome.NotReviewed
			}
			return nil
		}
	case !unreviewed && reason.Ceases():
		p.again = h.planAgain(r, *info)
	}
	// The apiserver reviews the access itself: a crowd that comes back after a restart is thus reviewed once, by its passed
	// watches. Not after a denial, although the apiserver allows the watch: it would end served watches.
	if read, err := info.Read(); err == nil && reason == outcome.NotReviewed && !unreviewed {
		_, p.allowed = h.options.Access.Recall(r, read)
	}
	info.PassedWatch = p.PassedWatch
	ctx, cancel := context.WithCancel(r.Context())
	var following sync.WaitGroup
	following.Go(func() { p.follow(ctx) })
	following.Go(func() { p.leavePlaces(ctx) })
	defer func() {
		cancel()
		following.Wait()
	}()
	h.options.Next.ServeHTTP(w, r)
}

// planAgain returns a function that plans a watch which passes, and returns why it still would. Its context must have the
// values of the request's.
func (h *Handler) planAgain(r *http.Request, info request.Info) func(context.Context) error {
	r = r.Clone(r.Context()) // whoever forwards the other one may change it
	return func(ctx context.Context) error {
		i := info
		_, err := h.plan(r.WithContext(request.With(ctx, &i)), &i, h.newAttempt())
		return err
	}
}

// passedWatch is one watch that passes.
type passedWatch struct {
	*request.PassedWatch
	options *Options
	info    *request.Info
	reason  outcome.Pass
	// unmarked reports whether the watch begins with initial events whose end nothing marks. It is not
	// ended early: a client that resumed from one of them would miss others.
	unmarked bool
	version  uint64 // from which it begins; 0 if none
	leave    func() // gives its places back; nil if it has none
	// again returns why the watch would still pass; nil for a reason that never ceases to hold.
	again   func(context.Context) error
	allowed func() // called when the apiserver has accepted the watch; nil calls nothing
}

func newPassedWatch(options *Options, info *request.Info, reason outcome.Pass) *passedWatch {
	o, _ := request.ParseListOptions(info.Query) // the apiserver refuses what cannot be parsed
	version, _ := plan.ParseVersion(o.ResourceVersion)
	marked := o.SendInitialEvents != nil
	return &passedWatch{
		PassedWatch: request.NewPassedWatch(marked && *o.SendInitialEvents), options: options, info: info, reason: reason,
		version: version, unmarked: !marked && o.InitialEvents(),
	}
}

// follow ends the watch when it is due, until ctx ends.
func (p *passedWatch) follow(ctx context.Context) {
	if !wait.For(ctx, p.Opened.Done(), nil) {
		return
	}
	if p.allowed != nil {
		p.allowed()
	}
	opened := time.Now()
	open := p.options.Metrics.passed(p.info, p.reason)
	open.Inc()
	defer open.Dec()
	spread := comeBackSpread
	p.How = request.CacheReady
	if !p.awaitCache(ctx) {
		if !wait.For(ctx, p.options.Draining, nil) {
			return
		}
		spread, p.How = p.options.Spread(), request.Drained
	}
	wait.Pause(ctx, max(rand.N(spread+1), watch.Shortest-time.Since(opened)))
	p.Ended.Set()
	<-ctx.Done()
}

// awaitCache waits until the cache may serve the watch. It returns false if ctx ends or the gateway
// drains first.
func (p *passedWatch) awaitCache(ctx context.Context) bool {
	var resumable <-chan struct{}
	switch {
	case p.unmarked:
	case p.again != nil:
		if !p.awaitPlan(ctx) {
			return false
		}
		if !p.InitialEvents {
			return true
		}
		resumable = p.Resumable.Done()
	case p.reason == outcome.VersionBeforeHistory:
		if p.awaitHistory(ctx) {
			return true
		}
		resumable = p.Resumable.Done()
	}
	return wait.For(ctx, resumable, p.options.Draining)
}

// leavePlaces gives the places of the watch back at the end of its initial events.
func (p *passedWatch) leavePlaces(ctx context.Context) {
	switch {
	case p.leave == nil:
		return
	case p.InitialEvents:
		wait.For(ctx, p.Resumable.Done(), nil)
	case wait.For(ctx, p.Opened.Done(), nil):
		wait.Pause(ctx, unmarkedFor)
	}
	p.leave()
}

// awaitPlan waits until the cache may serve the watch: until its store is in sync if it is being filled, and otherwise by
// trying again, ever more rarely. It returns false if ctx ends or the gateway drains first, or if the watch passes for
// another reason by then, which stays.
func (p *passedWatch) awaitPlan(ctx context.Context) bool {
	reason := p.reason
	for pause := firstTry; ; pause = min(2*pause, rarestTry) {
		if reason == resources.NotInSync &&
			plan.AwaitSync(ctx, p.options.Resources, p.info.GroupVersionResource(), p.options.Draining, plan.NoneToCome) {
			return true
		}
		next, stop := context.WithTimeout(ctx, pause/2+rand.N(pause/2))
		drains := wait.For(next, p.options.Draining, nil)
		stop()
		if drains || ctx.Err() != nil {
			return false
		}
		err := p.again(ctx)
		if err == nil {
			return true
		}
		var passes bool
		if reason, passes = errors.AsType[outcome.Pass](err); !passes || !reason.Ceases() {
			return false
		}
	}
}

// awaitHistory tries again to find out whether the watch has missed events before the store began, which
// may have taken too long when all clients came back. It returns true as soon as the cache may serve it.
func (p *passedWatch) awaitHistory(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, historyRetry*historyTries)
	defer cancel()
	for range historyTries {
		c, _ := p.options.Resources.Lookup(p.info.GroupVersionResource(), p.info.User)
		if c != nil && c.ExtendHistory(ctx, p.version) && p.coveredBy(c) {
			return true
		}
		next, stop := context.WithTimeout(ctx, historyRetry)
		resumable := wait.For(next, p.Resumable.Done(), p.options.Draining)
		stop()
		if resumable {
			return true
		}
	}
	return false
}

// coveredBy reports whether the history covers the watch, whatever it selects: a client that came back
// too early would pass again.
func (p *passedWatch) coveredBy(c *resources.CachedResource) bool {
	var scope cache.Scope
	if p.info.FieldSelector == "" {
		scope.Namespace = p.info.Namespace
	}
	cursor, err := c.Store.Watch(scope, p.version)
	if err != nil {
		return false
	}
	cursor.Close()
	return true
}
