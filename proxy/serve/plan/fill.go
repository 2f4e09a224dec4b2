package plan

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec/negotiate"
	"sluice/proxy/resources"
	"sluice/proxy/wait"
)

const (
	// fillPatience is how long a list or watch waits for a store that is being filled. A watch that
	// passes stays upstream for long, and a list that passes takes as long there as the fill does here.
	fillPatience = 2 * time.Second
	// pagePatience is the same for a page, and for a list of one namespace or with a selector, which cost the
	// apiserver little. Most stores fill in less.
	pagePatience = 250 * time.Millisecond
)

// awaitFill waits until the store of the resource is in sync, but not if the fill fails, or is known to take longer than
// the read would take at the apiserver.
func (p *Plan) awaitFill(ctx context.Context, from Resources, deadline time.Time) {
	patience := min(p.fillPatience(), time.Until(deadline))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	AwaitSync(ctx, from, p.Read.GroupVersionResource, nil, func(progress resources.Progress) bool {
		return progress.Failing || progress.LastFill > patience
	})
}

// AwaitSync waits until the store of a resource is in sync. It returns false if ctx or other ends the wait,
// or if its progress is hopeless.
func AwaitSync(ctx context.Context, from Resources, gvr schema.GroupVersionResource, other <-chan struct{},
	hopeless func(resources.Progress) bool) bool {
	for {
		progress := from.Progress(gvr)
		switch {
		case progress.Synced:
			return true
		case hopeless(progress), !wait.For(ctx, progress.Changed, other):
			return false
		}
	}
}

// NoneToCome reports whether no store is being filled, and none is going to be.
func NoneToCome(progress resources.Progress) bool { return progress.Changed == nil }

func (q *Query) fillPatience() time.Duration {
	switch {
	case q.Verb == negotiate.Watch:
		return fillPatience
	case q.Verb == negotiate.Get:
		return 0 // a get costs the apiserver next to nothing
	case q.Options.Limit > 0, q.Options.Continue != "", !q.Read.Whole():
		return pagePatience
	}
	return fillPatience
}
