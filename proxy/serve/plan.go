package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"sluice/cache/fence"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/outcome"
)

// plan is what to serve: which objects of which resource, at which version, in which format.
type plan struct {
	info    *request.Info
	verb    negotiate.Verb
	read    *request.Read // what is authorized, and what selection and key are made of
	options request.ListOptions

	match         versionMatch
	version       uint64   // for matchNotOlderThan and matchExact
	pageStart     tree.Key // of a list with a continue token: the first key of the page
	initialEvents bool     // of a watch: it begins with the objects that exist

	resource  *resources.CachedResource
	underWay  *fence.Read // of a get of the most recent state that is not alone; otherwise nil
	learn     func()      // keeps that the apiserver has allowed this get
	selection selection
	encoder   *encode.Format
	indexes   *tree.Budget // in which the selection keeps indexes
	metrics   *Metrics
	attempt   *attempt // of the request, which may have been tried before
}

// versionMatch says which versions of a resource may answer a read, in the terms of the API concepts
// page.
type versionMatch uint8

const (
	matchAny versionMatch = iota
	matchNotOlderThan
	matchExact
	matchMostRecent // a consistent read
)

// plan returns the plan for a request, or the Pass for which there is none. Requests that the
// apiserver would refuse pass too, so that the client gets the error of the apiserver. Checks that
// cost little come first.
func (h *Handler) plan(r *http.Request, info *request.Info, q *attempt) (*plan, error) {
	p := &plan{info: info, indexes: h.options.Encoded, metrics: h.options.Metrics, attempt: q}
	if err := p.checkRequest(r); err != nil {
		return nil, err
	}
	if err := p.parseRead(); err != nil {
		return nil, err
	}
	if err := p.parseOptions(h.options.Features); err != nil {
		return nil, err
	}
	if p.latestGet() {
		return p, h.joinGets(r, p)
	}
	return p, h.planRead(r, p)
}

// planRead makes the plan of a read that the options allow.
func (h *Handler) planRead(r *http.Request, p *plan) error {
	switch allowed, err := h.options.Access.MayRead(r, p.read); {
	case err != nil:
		return outcome.NotReviewed
	case !allowed:
		return outcome.NotAllowed
	}
	if err := p.lookup(r.Context(), h.options.Resources); err != nil {
		return err
	}
	if h.options.Strict && p.options.SendInitialEvents != nil && !p.resource.StreamingLists {
		return outcome.UnservedOptions // the apiserver refuses the parameter
	}
	if err := p.negotiate(r, &h.options); err != nil {
		return err
	}
	return p.selectObjects()
}

// checkRequest accepts a get, list or watch of a whole resource by an authenticated caller.
func (p *plan) checkRequest(r *http.Request) error {
	info := p.info
	verb, read := negotiate.ParseVerb(info.Verb)
	p.verb = verb
	named := verb == negotiate.Get || info.LegacyWatchPath && info.Name != ""
	switch {
	case r.Method != http.MethodGet || !read || info.Upgrade || !info.CanonicalPath() || (len(info.Parts) == 2) != named:
		return outcome.NotARead
	case info.User == "":
		return outcome.UnknownCaller
	case r.Header.Get("Origin") != "":
		return outcome.CrossOrigin // only the apiserver knows which origins it allows
	}
	return nil
}

// parseRead parses what the request selects.
func (p *plan) parseRead() (err error) {
	p.read, err = p.info.Read()
	switch {
	case errors.Is(err, request.ErrLargeSelector):
		return outcome.LargeSelector
	case errors.Is(err, request.ErrAmbiguousScope):
		return outcome.WrongScope
	case err != nil:
		return outcome.UnservedOptions
	}
	p.info.Name = p.read.RequiredName()
	return nil
}

// lookup finds the cached resource.
func (p *plan) lookup(ctx context.Context, from Resources) error {
	reader := resources.Reader{User: p.info.User, Whole: p.read.Whole()}
	c, reason := from.Lookup(p.read.GroupVersionResource, reader)
	if reason == resources.NotInSync {
		p.awaitFill(ctx, from)
		c, reason = from.Lookup(p.read.GroupVersionResource, reader)
	}
	if p.discarded(ctx, from) {
		return outcome.ErrDiscarded
	}
	if c == nil {
		return outcome.Pass(reason)
	}
	p.resource = c
	namespaced := c.Resource.Namespaced
	if p.read.Namespace != "" && !namespaced || p.read.Namespace == "" && namespaced && p.read.Name != "" {
		return outcome.WrongScope
	}
	return nil
}

// discarded reports whether the version from which a watch begins may be one of a discarded history.
func (p *plan) discarded(ctx context.Context, from Resources) bool {
	return p.verb == negotiate.Watch && p.match == matchExact && from.Discarded(ctx, p.read.GroupVersionResource, p.version)
}

// negotiate finds the encoder for the format that the client accepts. Only the apiserver knows
// whether it supports CBOR, so a Strict gateway passes requests for it.
func (p *plan) negotiate(r *http.Request, o *Options) error {
	resource, client := &p.resource.Resource, response.Negotiation(r, p.info)
	if o.Strict && strings.Contains(client.Accept, codec.MediaCBOR) {
		return outcome.UnservedFormat
	}
	format, ok := negotiate.Format(client, negotiate.Endpoint{
		Verb: p.verb, Style: resource.Style, CBOR: !o.Strict, Strict: o.Strict, DropManagedFields: o.Features.DropManagedFields,
	})
	if !ok {
		return outcome.UnservedFormat
	}
	var err error
	if p.encoder, err = encode.FormatFor(p.resource, format); err != nil || p.verb == negotiate.List && p.encoder.Sorted() {
		return outcome.UnservedFormat
	}
	if p.verb == negotiate.Watch && p.options.AllowBookmarks {
		// Only the apiserver knows how a bookmark of some kinds is printed.
		if _, err := p.encoder.AppendBookmark(nil, "1", false, false); err != nil {
			return outcome.UnservedFormat
		}
	}
	return nil
}

// selectObjects finds out which objects the read selects. The continue token of a list that a field
// selector narrows to a name or namespace is relative to another prefix at the apiserver, so its
// pages are not served.
func (p *plan) selectObjects() error {
	if p.verb == negotiate.Get {
		p.selection.keys = tree.Single(p.key())
		return nil
	}
	var err error
	p.selection, err = newSelection(&p.resource.Resource, &p.resource.Fields, p.read, p.options.ShardSelector)
	if bad, ok := errors.AsType[invalidShardSelector](err); ok {
		return &outcome.Refused{Err: bad}
	}
	paged := p.options.Limit > 0 || p.options.Continue != ""
	if err != nil || paged && p.selection.narrowed {
		return outcome.UnservedOptions
	}
	return nil
}

// key returns the key of the object that a get names.
func (p *plan) key() tree.Key { return tree.KeyOf(p.read.Namespace, p.read.Name) }
