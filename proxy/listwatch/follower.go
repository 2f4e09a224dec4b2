package listwatch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache/tree"
	"sluice/proxy/upstream"
	"sluice/proxy/wait"
)

const (
	// absentRetry is the time between two attempts to follow a resource that is not there.
	absentRetry = 10 * time.Second
	// followRetry is the time between the end of a watch and the next.
	followRetry = time.Second
	// maxKey is the length of the longest key that is kept as it is: a namespace and a name of most kinds are not longer.
	maxKey = 63 + 1 + 253
)

// Follower follows the objects of a resource, and keeps only their versions. It must be used by one goroutine at a time.
type Follower struct {
	client *Client
	log    *zap.Logger
	known  map[tree.Key]uint64
}

// Change is an object that a Follower has come to know, or that has changed.
type Change struct {
	Key     tree.Key
	Version uint64 // at which that was known
	Object  []byte // its metadata, or all of it with Options.Whole, until changed returns; nil if it is deleted
}

// NewFollower returns a Follower of a resource, with the options Opened, which is called once all objects are known, and Whole.
func NewFollower(u *upstream.Upstream, gvr schema.GroupVersionResource, log *zap.Logger, o Options) *Follower {
	return &Follower{New(u, gvr, o), log.With(zap.Stringer("resource", gvr.GroupResource())), map[tree.Key]uint64{}}
}

// Run calls changed for each object, once it is known and whenever it has changed, until ctx ends. If the apiserver seems not to have the resource, Run looks for it again from time to time:
// somebody else may have answered.
func (f *Follower) Run(ctx context.Context, changed func(Change)) {
	for failed := ""; ctx.Err() == nil; {
		err := f.follow(ctx, changed)
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, io.EOF):
			failed = ""
			wait.Pause(ctx, followRetry)
		default:
			if err.Error() != failed {
				f.log.Info("changes are not followed", zap.Error(err))
				failed = err.Error()
			}
			wait.Pause(ctx, absentRetry)
		}
	}
}

// follow calls changed for each object that has changed since it returned the last time, at first for all, and then for each
// that is added, changed or deleted. It returns when the watch ends: io.EOF, or another error.
func (f *Follower) follow(ctx context.Context, changed func(Change)) error {
	version, err := f.list(ctx, changed)
	if err != nil {
		return classify(err)
	}
	closed := func() {}
	defer func() { closed() }()
	opened := func() { closed = f.client.options.Opened() }
	return classify(f.client.watchMetadata(ctx, version, url.Values{}, opened, func(isBookmark bool, meta metadata) bool {
		if !isBookmark {
			f.known[shortKey(&meta)] = meta.version
			changed(Change{shortKey(&meta), meta.version, meta.object})
		}
		return true
	}))
}

// shortKey returns the key of an object, and of a long one its hash: names of RBAC objects may be as long as an object.
func shortKey(meta *metadata) tree.Key {
	key := meta.key()
	if len(key) > maxKey {
		key = tree.Key(fmt.Sprintf("%x", sha256.Sum256([]byte(key))))
	}
	return key
}

// list compares the known objects with those at the apiserver.
func (f *Follower) list(ctx context.Context, changed func(Change)) (version uint64, err error) {
	before, now := f.known, map[tree.Key]uint64{}
	version, err = f.client.pagesOfMetadata(firstPage).readMetadata(ctx, url.Values{}, func(meta metadata) error {
		k := shortKey(&meta)
		if now[k] = meta.version; before[k] != meta.version {
			before[k] = meta.version // also if the list fails
			changed(Change{k, meta.version, meta.object})
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	f.known = now
	for k := range before {
		if _, exists := now[k]; !exists {
			changed(Change{k, version, nil})
		}
	}
	return version, nil
}
