package resources

import (
	"context"
	"time"

	"sluice/proxy/limits"
)

const (
	// maxFills is how many stores are filled at the same time, or compared with the apiserver because their watches are
	// resumed, and how many resources are described. One user has three quarters of the places at most: the conversion
	// webhooks of its resources may hang.
	maxFills = 16
	// fillBytes is about how many bytes the apiserver sends for each place. A large store takes almost half of the places at most.
	fillBytes = 16 << 20
	// fillPlaceFor is how long a fill keeps its places: one that hangs must not keep others waiting.
	fillPlaceFor = 30 * time.Second
)

// fills bounds the stores that are filled at the same time, so that a gateway which starts in front of a busy
// cluster, or whose connection broke, does not ask for everything at once. Users take turns.
type fills struct{ *limits.Queue }

func newFills() fills { return fills{limits.NewQueue(maxFills, 0)} }

// enter waits for the places of a fill of about so many bytes, which a user has started. The caller must call leave when
// the fill has ended; it may do so again.
func (f fills) enter(ctx context.Context, bytes int64, user string) (leave func(), err error) {
	free, err := f.Enter(ctx, limits.Caller{Group: user}, int(min(1+max(bytes, 0)/fillBytes, maxFills/2-1)))
	if err != nil {
		return func() {}, err
	}
	late := time.AfterFunc(fillPlaceFor, free)
	return func() { late.Stop(); free() }, nil
}
