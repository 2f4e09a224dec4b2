package serve

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec/negotiate"
	"sluice/proxy/resources"
)

const (
	// fillPatience is how long a list or watch waits for a store that is being filled. A watch that
	// passes stays upstream for long, and a list that passes takes as long there as the fill does here.
	fillPatience = 2 * time.Second
	// pagePatience is the same for a page, and for a list of one namespace, which cost the apiserver
	// little. Most stores fill in less.
	pagePatience = 250 * time.Millisecond
	// historyPatience is how long a watch waits until it is known whether it has missed events before the
	// store began: the bookmark that shows it takes the apiserver a second.
	historyPatience = 3 * time.Second
)

// awaitFill waits until the store of the resource is in sync, but not if the fill fails, or is known to take longer than
// the read would take at the apiserver.
func (p *plan) awaitFill(ctx context.Context, from Resources) {
	patience := min(p.fillPatience(), p.attempt.patience())
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	awaitSync(ctx, from, p.read.GroupVersionResource, nil, func(progress resources.Progress) bool {
		return progress.Failing || progress.LastFill > patience
	})
}

// awaitSync waits until the store of a resource is in sync. It returns false if ctx or other ends the wait,
// or if its progress is hopeless.
func awaitSync(ctx context.Context, from Resources, gvr schema.GroupVersionResource, other <-chan struct{}, hopeless func(resources.Progress) bool) bool {
	for {
		progress := from.Progress(gvr)
		switch {
		case progress.Synced:
			return true
		case hopeless(progress), !await(ctx, progress.Changed, other):
			return false
		}
	}
}

// noneToCome reports whether no store is being filled, and none is going to be.
func noneToCome(progress resources.Progress) bool { return progress.Changed == nil }

func (p *plan) fillPatience() time.Duration {
	switch {
	case p.verb == negotiate.Watch:
		return fillPatience
	case p.verb == negotiate.Get:
		return 0 // a get costs the apiserver next to nothing
	case p.options.Limit > 0, p.options.Continue != "", p.read.Namespace != "":
		return pagePatience
	}
	return fillPatience
}
