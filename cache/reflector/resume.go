package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/cache"
)

const (
	// maxRefusals is how often the apiserver may forbid the watch that continues a store before the store
	// ends, which is after six seconds or more. An apiserver that has just started refuses everything
	// until it has read its access rules.
	maxRefusals = 6
	// inventoryLimit bounds the comparison of a store with the apiserver.
	inventoryLimit = 2 * time.Minute
	// explainLimit is how long a resumed watch may take to deliver the events that explain how the store differs from an inventory.
	explainLimit = 10 * time.Second
)

// errUnexplained is the reason to rebuild a store that goes on differing from the apiserver.
var errUnexplained = fmt.Errorf("no events explain how the store differs: %w", cache.ErrDiverged)

// resume opens a watch that continues the store, and retries until it succeeds or the session ends. took is the duration of
// the attempt that succeeded.
//
// A watch goes on as if nothing had happened even if etcd was restored from a backup meanwhile and has passed the version of the
// store. So nothing is recent before an inventory has shown that the store, with the events that the watch delivers, equals
// the apiserver, unless it is certain that no connection was lost: see [Stream].
func (r *Reflector) resume(ctx context.Context) (_ Stream, took time.Duration, err error) {
	r.store.Doubt()
	for refusals := 0; ; {
		began := time.Now()
		stream, err := r.continued(ctx)
		if err == nil {
			return stream, time.Since(began), nil
		}
		if errors.Is(err, ErrForbidden) {
			refusals++
		}
		if endsSession(err) || refusals == maxRefusals || ctx.Err() != nil {
			return nil, 0, err
		}
		r.options.Report(fmt.Errorf("watch: %w", err))
		r.backoff.wait(ctx, err)
	}
}

// continued opens a watch, and compares the store with the apiserver unless the watch continues it for certain.
func (r *Reflector) continued(ctx context.Context) (Stream, error) {
	stream, err := r.source.Watch(ctx, r.store.ResumeVersion())
	if err != nil {
		return nil, err
	}
	if stream.Continues() {
		r.store.Trust()
		return stream, nil
	}
	r.store.Resumed()
	if err := r.compare(ctx); err != nil {
		_ = stream.Close()
		r.store.Doubt()
		return nil, fmt.Errorf("inventory: %w", err)
	}
	return stream, nil
}

// compare compares the store with an inventory that begins now. If they differ, the store compares them again after each event.
func (r *Reflector) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, inventoryLimit)
	defer cancel()
	asked, shown := time.Now(), r.store.Snapshot().Version
	listed, err := r.source.Inventory(ctx)
	if err != nil {
		return err
	}
	if listed.Version < shown {
		return cache.Behind(listed.Version, shown)
	}
	listed.Asked = asked
	_, err = r.store.ConfirmState(listed)
	return err
}

// endUnexplained rebuilds a store that is still in doubt after a while, unless it has ended by then.
func (r *Reflector) endUnexplained(s *cache.Writer) (stop func() bool) {
	return time.AfterFunc(explainLimit, func() {
		select {
		case <-s.Done():
		default:
			if s.Doubtful() {
				r.Rebuild(errUnexplained)
			}
		}
	}).Stop
}
