package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/why"
)

// The facts of rules, for a dry run. None names an object.

// HidesSelection reports whether the reader of a dry run may not learn how much the read selects, or when that changed.
func (p *Plan) HidesSelection() bool {
	return p.Info.Why != nil && p.Info.Why.Supposed && !p.Read.Whole()
}

func (p *Plan) sayCaller() string { return p.Info.User }

func (p *Plan) sayAllowed() string {
	if p.Info.Why.Supposed {
		return "supposed, since nobody in particular asks"
	}
	return cmp.Or(p.Info.Decision.Reason, "by a review")
}

func saySelectors(err error) string {
	if err == nil || errors.Is(err, request.ErrInvalidOptions) {
		return ""
	}
	return err.Error()
}

var matches = [...]string{"any version", "not older than %d", "exactly %d", "the most recent state"}

func (p *Plan) sayOptions(err error) string {
	if err != nil {
		return "the apiserver refuses them, or only the apiserver can answer"
	}
	if p.Options.ResourceVersion == "" && p.Options.Continue != "" {
		return "a further page"
	}
	if text := matches[p.Match]; p.Match == MatchNotOlderThan || p.Match == MatchExact {
		return fmt.Sprintf(text, p.Version)
	}
	return matches[p.Match]
}

func (p *Plan) sayFormat() string {
	if p.Format == nil {
		return "not of this resource"
	}
	return p.Format.Format().Encoding.String()
}

// ended is a context in which nobody is asked.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// sayUncached says why the resource is not cached, and doubts it if the read would wait for its store.
func (p *Plan) sayUncached(from Resources, reason string) {
	if p.Info.Why == nil || reason != resources.NotInSync || p.fillPatience() == 0 {
		return
	}
	const waits = ": a read waits for it, up to %v, and then passes"
	switch progress := from.Progress(p.Read.GroupVersionResource); {
	case NoneToCome(progress):
		p.Info.Why.Doubt(why.Cached, fmt.Sprintf("nobody has read it, so it starts a store"+waits, p.fillPatience()))
	case !progress.Failing:
		p.Info.Why.Doubt(why.Cached, fmt.Sprintf("its store is being filled"+waits, p.fillPatience()))
	}
}
