package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
)

const (
	// maxRefusals is how often the apiserver may forbid the watch that continues a store before the store
	// ends, which is after six seconds or more. An apiserver that has just started refuses everything
	// until it has read its access rules.
	maxRefusals = 6
	// maxUntold is how often it may remain unknown whether a watch continues the store before the store is
	// filled anew: an apiserver without a watch cache of the resource sends no bookmarks.
	maxUntold = 3
	// inventoryLimit bounds the comparison of a store with the apiserver.
	inventoryLimit = 2 * time.Minute
	// fewChanges is how many events are read for the comparison also where the resource has fewer objects. The metadata
	// of as many events as there are objects costs the apiserver less than a new list does, and the store goes on.
	fewChanges = 10_000
)

// errUntold is returned when the events that would explain a difference are not known to be complete.
var errUntold = errors.New("the apiserver does not tell what has happened")

// resume opens a watch that continues the store, and retries until it succeeds or the session ends. Until
// then only an inventory proves a state of the store. took is the duration of the attempt that succeeded.
//
// A watch goes on as if nothing had happened even if etcd was restored from a backup meanwhile and has passed
// the version of the store. So an inventory must show that it is of the same history, before any of its
// events is applied, unless that is certain: see [Stream].
func (r *Reflector) resume(ctx context.Context) (_ Stream, took time.Duration, err error) {
	r.store.Doubt()
	for refusals, untold := 0, 0; ; {
		began := time.Now()
		stream, err := r.continued(ctx)
		if err == nil {
			return stream, time.Since(began), nil
		}
		if errors.Is(err, ErrForbidden) {
			refusals++
		}
		if errors.Is(err, errUntold) {
			untold++
		}
		switch {
		case untold == maxUntold:
			return nil, 0, fmt.Errorf("%w: %w", err, ErrRebuild)
		case endsSession(err) || refusals == maxRefusals || ctx.Err() != nil:
			return nil, 0, err
		}
		r.options.Report(fmt.Errorf("watch: %w", err))
		r.backoff.wait(ctx, err)
	}
}

// continued opens a watch that is known to continue the store.
func (r *Reflector) continued(ctx context.Context) (Stream, error) {
	stream, err := r.source.Watch(ctx, r.store.ResumeVersion(), r.store.Snapshot().Version)
	if err != nil {
		return nil, err
	}
	var listed *cache.Inventory
	if !stream.Continues() {
		listed, err = r.inventory(ctx)
	}
	if err == nil {
		r.store.Trust()
	}
	if err == nil && listed != nil {
		_, err = r.store.ConfirmState(listed)
	}
	if err != nil {
		_ = stream.Close()
		return nil, err
	}
	return stream, nil
}

// inventory compares the store with an inventory that begins now. Each difference must be explained by an event
// after the version at which the watch of the store begins: the store is of another history if one is not.
func (r *Reflector) inventory(ctx context.Context) (*cache.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, inventoryLimit)
	defer cancel()
	listed, err := r.source.Inventory(ctx)
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	differing, err := r.store.Differing(listed)
	if err != nil || len(differing) == 0 {
		return listed, err
	}
	changes, err := r.source.Changes(ctx, r.store.ResumeVersion(), listed.Version, max(fewChanges, listed.Len()))
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", err, errUntold)
	}
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	changed := map[tree.Key]bool{}
	for _, c := range changes {
		changed[c.Key] = true
	}
	unexplained := 0
	for _, k := range differing {
		if !changed[k] {
			unexplained++
		}
	}
	if unexplained > 0 {
		return nil, fmt.Errorf("%d objects differ from the apiserver's at version %d: %w", unexplained, listed.Version,
			cache.ErrDiverged)
	}
	return listed, nil
}
