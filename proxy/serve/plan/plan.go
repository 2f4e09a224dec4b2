package plan

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/negotiate"
	"sluice/codec/proto"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/outcome"
)

// Query is the demand of a read, as far as the request alone tells.
type Query struct {
	Info    *request.Info
	Verb    negotiate.Verb
	Read    *request.Read // what is authorized, and what selection and key are made of
	Options request.ListOptions

	Match         Match
	Version       uint64   // for MatchNotOlderThan and MatchExact
	PageStart     tree.Key // of a list with a continue token: the first key of the page
	InitialEvents bool     // of a watch: it begins with the objects that exist
	// LargeSelector reports whether the selectors are too large to be evaluated here. The read then passes, and Read has none.
	LargeSelector bool
}

// Plan is the demand of a read: which objects of which resource, at which version, in which format. It does not
// change once it is resolved.
type Plan struct {
	Query
	Resource  *resources.CachedResource // nil until it is found
	Selection Selection
	Format    *encode.Format
	Indexes   *tree.Budget // in which the selection keeps indexes
	// ProvenFirst reports whether initial events are proven recent before the first of them is sent.
	ProvenFirst bool

	resources Resources
	cost      *Cost                // nil until it is estimated
	shown     func(version uint64) // nil if nobody asks later
	memory    *Shown               // nil remembers nothing
	written   bool                 // the caller may write the objects, and is therefore shown whole ones in spite of a policy
}

// Resources finds the cached resources.
type Resources interface {
	// Lookup returns the cached resource, or nil and the reason why it cannot be served now.
	// A store may start for it on behalf of the user, whose read must have been authorized.
	Lookup(r schema.GroupVersionResource, user string) (*resources.CachedResource, string)
	// Look is Lookup without any effect: it starts nothing.
	Look(r schema.GroupVersionResource) (*resources.CachedResource, string)
	// Discarded reports whether a client that watches from version may have a state of a history that the
	// apiserver has discarded.
	Discarded(ctx context.Context, r schema.GroupVersionResource, version uint64) bool
	// Progress tells how far the store of a resource is.
	Progress(r schema.GroupVersionResource) resources.Progress
}

// Access authorizes reads from the cache.
type Access interface {
	// MayRead reports whether the authenticated caller of r may make the read. An error means that the
	// apiserver could not be asked.
	MayRead(r *http.Request, read *request.Read) (bool, error)
	// MayWrite reports whether the caller may update or patch an object that the read selects, or its status.
	MayWrite(r *http.Request, read *request.Read) (bool, error)
	// MayReadSome returns a read that the caller may not make, with the namespaces in which it may, if it asks for these, else nil.
	MayReadSome(r *http.Request, read *request.Read) (*request.Read, error)
}

// Features are served even if the apiserver does not support them. The zero value has none.
type Features struct {
	// ShardSelector serves lists and watches with a shardSelector (KEP-5866).
	ShardSelector bool
}

// Options are the features of plans.
type Options struct {
	Resources Resources
	Access    Access
	// Indexes bounds the memory of the indexes that selections make; nil keeps none.
	Indexes *tree.Budget
	// Strict passes requests for formats that the apiserver itself may not support.
	Strict   bool
	Features Features
	Policies []Policy
	// Projected counts the reads that have a policy; see NewPolicyMetric.
	Projected *PolicyMetric
	// Shown remembers which namespaces lists have shown; nil remembers none.
	Shown *Shown
}

// Match says which versions of a resource may answer a read, in the terms of the API concepts
// page.
type Match uint8

const (
	MatchAny Match = iota
	MatchNotOlderThan
	MatchExact
	MatchMostRecent // a consistent read
)

// Parse returns the demand of a request, with the outcome.Pass of one that is never served, whose plan may lack all but
// Info and Verb. Requests that the apiserver would refuse pass, so that the client gets the error of the apiserver.
func (o *Options) Parse(r *http.Request, info *request.Info) (*Plan, error) {
	p := &Plan{Query: Query{Info: info}, Indexes: o.Indexes, resources: o.Resources, memory: o.Shown}
	verb, reads := negotiate.ParseVerb(info.Verb)
	p.Verb = verb
	named := verb == negotiate.Get || info.LegacyWatchPath && info.Name != ""
	switch {
	case r.Method != http.MethodGet || !reads || info.Upgrade || !info.CanonicalPath() || !info.Nameable() || (len(info.Parts) == 2) != named:
		return p, outcome.NotARead
	case info.User == "" && !info.Unreviewed():
		return p, outcome.UnknownCaller
	}
	read, err := info.Read()
	switch p.LargeSelector = errors.Is(err, request.ErrLargeSelector); {
	case errors.Is(err, request.ErrAmbiguousScope):
		return p, outcome.WrongScope
	case err != nil && !p.LargeSelector:
		return p, outcome.UnservedOptions
	}
	if p.Read = read; !p.LargeSelector {
		info.Name = read.RequiredName()
	}
	if err := p.parseOptions(); err != nil {
		return p, err
	}
	if !o.Strict && badNamespaces(r) && p.Verb != negotiate.Get {
		return p, &outcome.Refused{Err: apierrors.NewBadRequest(message.BadNamespaces.Say())}
	}
	if info.User == "" { // the apiserver may know the caller, and then answers with as much as the cache would
		return p, outcome.NotReviewed
	}
	return p, nil
}

// Authorize returns why a read passes that its caller may not make, or that is not served whoever makes it.
func (o *Options) Authorize(r *http.Request, p *Plan) error {
	if _, reason := o.Resources.Look(p.Read.GroupVersionResource); reason == resources.Excluded {
		return outcome.Pass(reason) // it passes in any case, and the apiserver authorizes it
	}
	allowed, err := o.Access.MayRead(r, p.Read)
	switch {
	case err != nil:
		return outcome.NotReviewed
	case !allowed && o.Strict:
		return outcome.NotAllowed
	case !allowed:
		if err := o.authorizeSome(r, p); err != nil {
			return err
		}
	}
	switch {
	case p.LargeSelector: // after the review: only reads that the apiserver would answer count for the budget of what passes
		return outcome.LargeSelector
	case r.Header.Get("Origin") != "":
		return outcome.OtherOrigin
	}
	return nil
}

// Resolve completes an authorized plan, or returns why the read passes. It waits for a store that is being filled, at
// most until the deadline. Checks that cost little come first.
func (o *Options) Resolve(r *http.Request, p *Plan, deadline time.Time) error {
	if err := p.lookup(r.Context(), o.Resources, deadline); err != nil {
		return err
	}
	streaming := p.Options.SendInitialEvents != nil
	if o.Strict && streaming && !p.Resource.StreamingLists || p.sharded() && !o.Features.ShardSelector && !p.Resource.SelectsShards {
		return outcome.UnservedOptions // the apiserver refuses the one, and ignores the other
	}
	if err := p.negotiate(r, o); err != nil {
		return err
	}
	if err := p.applyPolicy(r, o); err != nil {
		return err
	}
	if err := o.follow(r, p); err != nil {
		return err
	}
	return p.selectObjects()
}

// lookup finds the cached resource.
func (p *Plan) lookup(ctx context.Context, from Resources, deadline time.Time) error {
	c, reason := p.find(from)
	if reason == resources.NotInSync {
		p.awaitFill(ctx, from, deadline)
		c, reason = p.find(from)
	}
	if p.Discarded(ctx, from) {
		return outcome.ErrDiscarded
	}
	if c == nil {
		return outcome.Pass(reason)
	}
	p.Resource = c
	namespaced := c.Resource.Namespaced
	scoped := (p.Read.Namespace == "" || namespaced) && (p.Read.Namespace != "" || !namespaced || p.Read.Name == "")
	if !scoped {
		return outcome.WrongScope
	}
	if p.Some() && !namespaced && !p.Read.OfNamespaces() {
		return outcome.NotAllowed
	}
	return nil
}

// find looks the resource up.
func (p *Plan) find(from Resources) (*resources.CachedResource, string) {
	return from.Lookup(p.Read.GroupVersionResource, p.Info.User)
}

// Discarded reports whether the version from which a watch begins may be one of a discarded history.
func (p *Plan) Discarded(ctx context.Context, from Resources) bool {
	return p.Verb == negotiate.Watch && p.Match == MatchExact && from.Discarded(ctx, p.Read.GroupVersionResource, p.Version)
}

// negotiate finds the format that the client accepts. Only the apiserver knows
// whether it supports CBOR and drop, so a Strict gateway passes requests for them.
func (p *Plan) negotiate(r *http.Request, o *Options) error {
	resource, client := &p.Resource.Resource, response.Negotiation(r, &p.Info.Parsed)
	if o.Strict && (strings.Contains(client.Accept, codec.MediaCBOR) || strings.Contains(client.Accept, "drop")) {
		return outcome.UnservedFormat
	}
	endpoint := negotiate.Endpoint{
		Verb: p.Verb, Style: resource.Style, CBOR: !o.Strict, Strict: o.Strict, Projections: !o.Strict,
	}
	accepted, ok := negotiate.Format(client, endpoint)
	switch {
	case !ok:
		if err := negotiate.ProjectionError(client, endpoint); err != nil {
			return refusedProjection(err)
		}
		return outcome.UnservedFormat
	case accepted.Shape == codec.Table && resource.Columns == nil:
		return outcome.UnknownColumns
	}
	var err error
	p.Format, err = encode.FormatFor(p.Resource, accepted)
	if bad, ok := errors.AsType[*proto.FieldError](err); ok {
		return refusedProjection(bad)
	}
	if err != nil || p.Verb == negotiate.List && p.Format.Sorted() {
		return outcome.UnservedFormat
	}
	if p.Verb == negotiate.Watch && p.Options.AllowBookmarks {
		// Only the apiserver knows how a bookmark of some kinds is printed.
		if _, err := p.Format.AppendBookmark(nil, "1", false, false); err != nil {
			return outcome.UnservedFormat
		}
	}
	return nil
}

// refusedProjection returns the answer to a client that asks for a projection which no object has.
func refusedProjection(err error) error {
	return &outcome.Refused{Err: &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: message.BadProjection.Say(err),
	}}}
}

// selectObjects finds out which objects the read selects. The continue token of a list that a field
// selector narrows to a name or namespace is relative to another prefix at the apiserver, so its
// pages are not served.
func (p *Plan) selectObjects() error {
	if p.Verb == negotiate.Get {
		p.Selection.Keys = tree.Single(p.Key())
		return nil
	}
	var err error
	p.Selection, err = newSelection(&p.Resource.Resource, &p.Resource.Fields, p.Read, p.Options.ShardSelector)
	if bad, ok := errors.AsType[invalidShardSelector](err); ok {
		if p.Resource.Minor >= 38 {
			return &outcome.Refused{Err: apierrors.NewBadRequest(bad.Error())}
		}
		return &outcome.Refused{Err: bad}
	}
	paged := p.Options.Limit > 0 || p.Options.Continue != ""
	if err != nil || paged && p.Selection.narrowed && !p.Some() {
		return outcome.UnservedOptions
	}
	return nil
}

// sharded reports whether the read has a shard selector. A get ignores it.
func (q *Query) sharded() bool { return q.Options.ShardSelector != "" && q.Verb != negotiate.Get }

// OnlyHere reports whether the read should not pass: the apiserver may ignore its shard selector, or refuses what it shows, or watches
// go on only from what is shown here.
func (p *Plan) OnlyHere() bool {
	return p.Some() || p.written || p.shown != nil || p.sharded() && (p.Resource == nil || !p.Resource.SelectsShards)
}

// Key returns the key of the object that a get names.
func (q *Query) Key() tree.Key { return tree.KeyOf(q.Read.Namespace, q.Read.Name) }
