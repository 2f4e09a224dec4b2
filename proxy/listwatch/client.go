package listwatch

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/discovery"
	"sluice/proxy/upstream"
)

// Options sets up a Client.
type Options struct {
	// Opened is called when a watch of the resource is open. It returns a function that is called
	// when that watch is closed.
	Opened func() (closed func())
	// ColumnsChanged is called when a store goes on with other printer columns.
	ColumnsChanged func(was, now *discovery.Description)
	// Describe is called before the resource is described, and waits until it may be. done is called when it
	// has been. Nil does not wait.
	Describe func(ctx context.Context) (done func(), err error)
	// Fill is called before all objects are read, about so many bytes, and waits until they may be; nil
	// does not wait.
	Fill func(ctx context.Context, bytes int64) error
	// Compare is called before the metadata of all objects is read, of which the list takes about so many bytes, and waits
	// until it may be. done is called when it has been. Nil does not wait.
	Compare func(ctx context.Context, bytes int64) (done func(), err error)
	// Read is called with each object that is read then; nil ignores them.
	Read func(*tree.Object)
	// Whole has a Follower read whole objects in JSON, not only their metadata.
	Whole bool
}

// Client lists and watches one resource. It implements reflector.ListerWatcher and, like that, must
// be used by one goroutine at a time; only Aggregated is safe for concurrent use.
type Client struct {
	upstream  *upstream.Upstream
	discovery *discovery.Discovery
	path      string // of the resource in all namespaces
	options   Options
	session   *Session
	contact   time.Time // when the apiserver was last known to serve the history of the store; zero for never
	jsonOnly  bool      // the apiserver sends Protobuf with unknown fields, or none, or no CBOR
}

// New returns the Client of a resource.
func New(u *upstream.Upstream, gvr schema.GroupVersionResource, o Options) *Client {
	if o.Read == nil {
		o.Read = func(*tree.Object) {}
	}
	d := discovery.New(u, gvr)
	return &Client{upstream: u, discovery: d, path: d.ResourcePath(), options: o}
}

// Session returns the session of the store that was filled last.
func (c *Client) Session() *Session { return c.session }

// Aggregated reports whether an extension server serves the resource. It is safe for concurrent use.
func (c *Client) Aggregated(ctx context.Context) (bool, error) { return c.discovery.Aggregated(ctx) }

// List implements reflector.ListerWatcher. It reads the state in pages.
func (c *Client) List(ctx context.Context, yield func(*tree.Object)) (uint64, error) {
	if err := c.begin(ctx); err != nil {
		return 0, classify(err)
	}
	version, err := c.session.list(ctx, func(o *tree.Object) {
		c.options.Read(o)
		yield(o)
	})
	c.contact = time.Now()
	return version, classify(err)
}

// Inventory implements reflector.ListerWatcher.
func (c *Client) Inventory(ctx context.Context) (*cache.Inventory, error) {
	if c.options.Compare != nil {
		done, err := c.options.Compare(ctx, c.session.Description().ListBytes)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	r, err := c.session.Inventory(ctx, cache.Scope{}, 0)
	return r, classify(err)
}

// WatchList implements reflector.ListerWatcher by a streaming list (KEP-3157).
func (c *Client) WatchList(ctx context.Context) (reflector.Stream, error) {
	if err := c.begin(ctx); err != nil {
		return nil, classify(err)
	}
	stream, err := c.session.watch(ctx, url.Values{"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}})
	if refused(err) {
		return nil, fmt.Errorf("%w: %w", err, reflector.ErrUnsupported)
	}
	if err != nil {
		return nil, listInstead(classify(err))
	}
	stream.silence, stream.silent = time.AfterFunc(initialEventsSilence, stream.cancel), time.Now().Add(initialEventsSilence)
	return stream, nil
}

// Watch implements reflector.ListerWatcher. The apiserver ends the watches of a custom resource when
// its CRD changes, so the CRD is compared before the watch is resumed. The release is read once the watch is open: an
// upgrade after that ends the watch.
func (c *Client) Watch(ctx context.Context, version uint64) (reflector.Stream, error) {
	if err := c.session.Refresh(ctx); err != nil {
		return nil, classify(err)
	}
	stream, err := c.session.watch(ctx, url.Values{"resourceVersion": {strconv.FormatUint(version, 10)}})
	if err != nil {
		return nil, classify(err)
	}
	if err := c.discovery.VerifyRelease(ctx, c.session.Description()); err != nil {
		_ = stream.Close()
		return nil, classify(err)
	}
	return stream, nil
}

// begin describes the resource and begins a new session.
func (c *Client) begin(ctx context.Context) error {
	d, err := c.describe(ctx)
	if err != nil {
		return err
	}
	c.session, c.contact = newSession(c, d), time.Time{}
	if c.options.Fill != nil {
		return c.options.Fill(ctx, d.ListBytes)
	}
	return nil
}

func (c *Client) describe(ctx context.Context) (*discovery.Description, error) {
	if c.options.Describe != nil {
		done, err := c.options.Describe(ctx)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	var was *discovery.Description
	if c.session != nil {
		was = c.session.Description()
	}
	return c.discovery.Describe(ctx, was, c.jsonOnly)
}

// acceptMetadata accepts the metadata of objects in the most compact encoding that the apiserver
// supports for every resource. kind is PartialObjectMetadata or PartialObjectMetadataList.
func (c *Client) acceptMetadata(kind string) string {
	if c.options.Whole {
		return codec.MediaJSON
	}
	as := ";as=" + kind + ";g=meta.k8s.io;v=v1"
	return codec.MediaProtobuf + as + "," + codec.MediaJSON + as
}

// listMetadata lists a small resource, reduced to the metadata of its objects.
func (c *Client) listMetadata(ctx context.Context, query url.Values) (list, error) {
	body, header, err := c.upstream.Get(ctx, c.path, query, c.acceptMetadata("PartialObjectMetadataList"))
	if err != nil {
		return list{}, err
	}
	e, err := encodingOf(header)
	if err != nil {
		return list{}, err
	}
	return e.list(body)
}

// encodingOf returns the encoding of a response.
func encodingOf(h http.Header) (encoding, error) {
	switch t := h.Get("Content-Type"); mediaType(t) {
	case codec.MediaProtobuf:
		return protobufEncoding{}, nil
	case codec.MediaJSON:
		return jsonEncoding{}, nil
	case codec.MediaCBOR, codec.MediaCBORSequence:
		return cborEncoding{}, nil
	default:
		return nil, fmt.Errorf("response in %q: %w", t, errEncoding)
	}
}

var _ reflector.ListerWatcher = (*Client)(nil)
