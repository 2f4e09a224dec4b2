package discovery

import (
	"errors"
	"strconv"
	"time"

	"sluice/codec"
	"sluice/codec/proto"
	"sluice/codec/table"
)

var (
	// ErrNotCacheable is returned by Describe if the apiserver does not serve the resource for list
	// and watch, or not by itself.
	ErrNotCacheable = errors.New("resource is not cacheable")

	// ErrChanged is returned by Refresh and Verify if a store that was built by a Description must
	// be rebuilt.
	ErrChanged = errors.New("CRD has changed")

	// errLagging is returned by Describe if the apiserver serves the resource otherwise than its CRD or APIService in etcd. It
	// wraps no status, so that Describe is repeated.
	errLagging = errors.New("the apiserver serves the resource otherwise than it is defined")
)

// Description describes one resource. It is immutable and safe for concurrent use.
type Description struct {
	Resource codec.Resource
	// Schema reads the stored objects if Resource.Source is Protobuf; else it is nil.
	Schema *proto.Schema
	// Fields are the selectable fields.
	Fields Fields
	// Warnings are the values of the Warning headers of every read of the resource.
	Warnings []string
	// CompressesStreamingLists is true if the apiserver compresses streaming lists for clients that accept gzip, as
	// Kubernetes 1.37 does with the feature gate WatchListCompression.
	CompressesStreamingLists bool
	// SelectsShards is true if the apiserver knows the parameter shardSelector, as Kubernetes 1.38 does by default.
	SelectsShards bool
	// Minor is the release of the apiserver: 38 for Kubernetes 1.38. It is 0 if the release is unknown.
	Minor int
	// ListBytes is about how long a list of all objects was as JSON, judged by the first of them.
	ListBytes int64
	// ListLength is how many objects that list had.
	ListLength int64
	// FillAgain is when a store must be rebuilt that began to be filled before, because the CRD has changed; zero if it has not
	// changed lately.
	FillAgain time.Time

	declared *table.Columns // by the CRD; nil if there is none or they cannot be printed here
	release  release        // of the apiserver, when the store was built
	revision *revision      // of the CRD; nil if there is none or it cannot be followed
}

// lag is how long after a change of a CRD, which is read from etcd, an apiserver may serve new requests by the CRD before.
const lag = 10 * time.Second

// Followed reports whether changes of the CRD of the resource are noticed. It is false for resources without a CRD.
func (d *Description) Followed() bool { return d.revision != nil }

// succeed sets the fields that depend on the last Description, if there is one. Else the CRD itself shows whether it has changed.
func (d *Description) succeed(was *Description) {
	switch {
	case was == nil || was.revision == nil || d.revision == nil:
	case was.revision.equal(d.revision):
		d.FillAgain = was.FillAgain
	default:
		d.FillAgain = time.Now().Add(lag)
	}
}

// Seen returns the newest resource version at which the CRD was found to be the described one; 0 if there is no CRD that can
// be followed, and nothing that changes.
func (d *Description) Seen() uint64 {
	if d.revision == nil {
		return 0
	}
	seen := d.revision.seen.Load()
	if seen == nil {
		return 0
	}
	version, _ := strconv.ParseUint(*seen, 10, 64)
	return version
}

// WithBookmark returns a Description whose Resource has the given template for bookmarks.
func (d *Description) WithBookmark(object []byte) *Description {
	next := *d
	next.Resource.Bookmark = object
	return &next
}
