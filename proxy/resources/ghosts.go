package resources

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/proxy/wait"
)

const (
	// ghostsAfter is how long after its fill, and up to twice as long, a store is searched for ghosts, when the
	// fills of a restart are over. The apiserver keeps its events for more than a minute.
	ghostsAfter = 10 * time.Second
	// ghostTries is how often the apiserver is asked until it tells what has happened.
	ghostTries = 3
)

// searchGhosts rebuilds a store that was filled between two deletions of one version, as when a lease expires in
// etcd: the apiserver does not send the others to a watch from that version, so their objects would stay for good.
// They are among the events at the version, which a watch from the one before delivers.
func (e *entry) searchGhosts(ctx context.Context, source changesReader, s *cache.Store, version uint64) {
	for range ghostTries {
		wait.Pause(ctx, ghostsAfter+rand.N(ghostsAfter))
		select {
		case <-s.Done():
			return
		default:
		}
		if ctx.Err() != nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, prehistoryLimit)
		changes, err := source.Changes(limited, version-1, version, math.MaxInt) // of one version there are few
		cancel()
		if errors.Is(err, reflector.ErrExpired) { // its cache began with a whole list, at this version or later
			return
		}
		state := s.Snapshot()
		for _, c := range changes {
			if o := state.Get(c.Key); o != nil && o.RV < version {
				e.reflector.Rebuild(fmt.Errorf("%s was deleted at version %d, at which the store was filled: %w", c.Key, version,
					cache.ErrDiverged))
				return
			}
		}
		if err == nil {
			return
		}
	}
}
