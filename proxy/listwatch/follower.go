package listwatch

import (
	"context"
	"net/url"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache/tree"
	"sluice/proxy/upstream"
)

// Follower follows the objects of a resource by their metadata, and keeps only their versions. It must be used by one goroutine
// at a time.
type Follower struct {
	client *Client
	known  map[tree.Key]uint64
}

// NewFollower returns a Follower of a resource. opened is called when its watch is open, and closed when that has ended.
func NewFollower(u *upstream.Upstream, gvr schema.GroupVersionResource, opened func() (closed func())) *Follower {
	return &Follower{New(u, gvr, Options{Opened: opened}), map[tree.Key]uint64{}}
}

// Follow calls changed with the key of each object that has changed since Follow returned the last time, at first with all, and
// then with each that is added, changed or deleted, and with the version at which that was known. It returns when the watch ends:
// io.EOF, or another error.
func (f *Follower) Follow(ctx context.Context, changed func(tree.Key, uint64)) error {
	version, err := f.list(ctx, changed)
	if err != nil {
		return classify(err)
	}
	closed := func() {}
	defer func() { closed() }()
	opened := func() { closed = f.client.options.Opened() }
	return classify(f.client.watchMetadata(ctx, version, url.Values{}, opened, func(isBookmark bool, meta metadata) bool {
		if !isBookmark {
			f.known[meta.key()] = meta.version
			changed(meta.key(), meta.version)
		}
		return true
	}))
}

// list compares what is known with what there is.
func (f *Follower) list(ctx context.Context, changed func(tree.Key, uint64)) (version uint64, err error) {
	now := map[tree.Key]uint64{}
	version, err = f.client.pagesOfMetadata(firstPage).readMetadata(ctx, url.Values{}, func(meta metadata) error {
		now[meta.key()] = meta.version
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
