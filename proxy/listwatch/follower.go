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

// Follower follows the objects of a resource by their metadata, and keeps only their versions. It must be used by one goroutine
// at a time.
type Follower struct {
	client *Client
	log    *zap.Logger
	known  map[tree.Key]uint64
}

// NewFollower returns a Follower of a resource. opened is called when its watch is open, and closed when that has ended.
func NewFollower(u *upstream.Upstream, gvr schema.GroupVersionResource, log *zap.Logger, opened func() (closed func())) *Follower {
	return &Follower{New(u, gvr, Options{Opened: opened}), log.With(zap.Stringer("resource", gvr.GroupResource())), map[tree.Key]uint64{}}
}

// Run calls changed with the key of each object, once it is known and whenever it has changed, and with the version at which
// that was known, until ctx ends. If the apiserver seems not to have the resource, Run looks for it again from time to time:
// somebody else may have answered.
func (f *Follower) Run(ctx context.Context, changed func(tree.Key, uint64)) {
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

// follow calls changed with the key of each object that has changed since it returned the last time, at first with all, and
// then with each that is added, changed or deleted. It returns when the watch ends: io.EOF, or another error.
func (f *Follower) follow(ctx context.Context, changed func(tree.Key, uint64)) error {
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
			changed(shortKey(&meta), meta.version)
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
func (f *Follower) list(ctx context.Context, changed func(tree.Key, uint64)) (version uint64, err error) {
	now := map[tree.Key]uint64{}
	version, err = f.client.pagesOfMetadata(firstPage).readMetadata(ctx, url.Values{}, func(meta metadata) error {
		now[shortKey(&meta)] = meta.version
		return nil
	})
	if err != nil {
		return 0, err
	}
	before := f.known
	f.known = now
	for k, v := range now {
		if before[k] != v {
			changed(k, v)
		}
	}
	for k := range before {
		if _, exists := now[k]; !exists {
			changed(k, version)
		}
	}
	return version, nil
}
