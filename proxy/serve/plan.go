package serve

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec"
	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
)

// plan is what is to be served.
type plan struct {
	info       *request.Info
	verb       negotiate.Verb
	namespace  string // empty for all of them, and for cluster-scoped resources
	options    request.ListOptions
	version    uint64 // options.ResourceVersion as a number; 0 if that is empty
	page       *page  // where the list goes on; nil from the start
	selection  selection
	collection *resources.CachedResource
	encoder    *Encoder
	tag        string // entity tag of the answer; empty for none
	refusal    error  // the answer, when nobody but Sluice would refuse
}

// plan decides whether the request can be served, cheap questions first. It
// returns a reason if it cannot. Whatever the apiserver would refuse is passed:
// it knows best how to say so.
func (s *Handler) plan(r *http.Request, info *request.Info) (*plan, string) {
	p := &plan{info: info, namespace: info.Namespace}
	if info.Resource == "namespaces" {
		p.namespace = "" // the parser takes a namespace for its own
	}
	if reason := p.candidate(r); reason != "" {
		return nil, reason
	}
	if reason := p.parse(s.options.Features); reason != "" {
		return nil, reason
	}
	if !s.options.Access.Allowed(r) {
		return nil, reasonNotAllowed
	}
	var reason string
	gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	if p.collection, reason = s.options.Resources.Lookup(gvr); p.collection == nil {
		return nil, reason
	}
	if namespaced := p.collection.Resource.Namespaced; (p.namespace != "" && !namespaced) || (p.namespace == "" && namespaced && p.verb == negotiate.Get) {
		return nil, reasonScope
	}
	if err := p.choose(); err != nil {
		return nil, reasonOptions
	}
	return p, p.negotiate(r, &s.options)
}

var verbs = map[string]negotiate.Verb{"get": negotiate.Get, "list": negotiate.List, "watch": negotiate.Watch}

// candidate tells at a glance what cannot be served.
func (p *plan) candidate(r *http.Request) string {
	info := p.info
	verb, read := verbs[info.Verb]
	p.verb = verb
	if r.Method != http.MethodGet || !read || info.Upgrade || !info.CanonicalPath() || (len(info.Parts) == 2) != (verb == negotiate.Get || info.LegacyWatchPath && info.Name != "") {
		return reasonNotARead
	}
	if info.Caller == request.Unauthenticated {
		return reasonUnknownCaller
	}
	if info.Caller == request.BearerToken && info.Impersonates {
		return reasonImpersonation
	}
	return ""
}

// parse reads the options.
func (p *plan) parse(f Features) string {
	var err error
	if p.options, err = request.ParseListOptions(p.info.Query); err != nil {
		return reasonOptions
	}
	if p.info.Query.Has("shardSelector") && !f.ShardSelector {
		return reasonOptions
	}
	o := &p.options
	if o.ResourceVersion != "" {
		if p.version, err = strconv.ParseUint(o.ResourceVersion, 10, 64); err != nil || !canonical(o.ResourceVersion) {
			return reasonOptions
		}
	}
	switch p.verb {
	case negotiate.Get:
		return p.gettable()
	case negotiate.Watch:
		if p.info.LegacyWatchPath {
			return p.watchableByPath()
		}
		return watchable(o)
	default:
		return p.listable()
	}
}

// canonical refuses numbers such as 00, which the apiserver takes for zero in
// some places and not in others.
func canonical(version string) bool {
	return version == "0" || !strings.HasPrefix(version, "0")
}

// gettable: a get of the most recent state costs the apiserver next to nothing.
func (p *plan) gettable() string {
	switch {
	case p.info.Query.Has("export"), len(content.IsPathSegmentName(p.info.Name)) > 0:
		return reasonOptions
	case p.options.ResourceVersion == "":
		return reasonGetMostRecent
	}
	return ""
}

// listable refuses what contradicts itself (wire.md 4.2, 4.4).
func (p *plan) listable() string {
	o := &p.options
	switch {
	case o.SendInitialEvents != nil:
		return reasonOptions
	case o.ResourceVersionMatch != "" && (o.ResourceVersion == "" || o.Continue != ""):
		return reasonOptions
	case o.ResourceVersionMatch == "Exact" && o.ResourceVersion == "0":
		return reasonOptions
	case o.ResourceVersionMatch != "" && o.ResourceVersionMatch != "Exact" && o.ResourceVersionMatch != "NotOlderThan":
		return reasonOptions
	case o.Continue != "" && p.version != 0:
		return reasonOptions
	}
	if o.ResourceVersion == "0" || o.Limit < 0 {
		o.Limit = 0 // any version ignores the limit (wire.md 4.3)
	}
	if o.Continue == "" {
		return ""
	}
	var err error
	if p.page, err = parsePage(o.Continue, p.namespace); err != nil {
		return reasonOptions
	}
	return ""
}

// watchable refuses what contradicts itself (wire.md 7.3).
func watchable(o *request.ListOptions) string {
	switch {
	case o.Timeout < 0, o.Continue != "":
		return reasonOptions
	case o.SendInitialEvents == nil && o.ResourceVersionMatch != "":
		return reasonOptions
	case o.SendInitialEvents != nil && o.ResourceVersionMatch != "NotOlderThan":
		return reasonOptions
	}
	return ""
}

// watchableByPath: the deprecated paths take the options of a list, and a name
// in the path selects it (wire.md 7.8). What goes beyond plain use is passed.
func (p *plan) watchableByPath() string {
	o := &p.options
	switch {
	case o.Timeout < 0, o.Continue != "", o.SendInitialEvents != nil, o.ResourceVersionMatch != "":
		return reasonOptions
	case p.info.Query.Has("watch"):
		return reasonOptions
	case p.info.Name != "" && o.FieldSelector != "":
		return reasonOptions
	}
	if p.info.Name != "" {
		o.FieldSelector = fields.OneTermEqualSelector(resources.FieldName, p.info.Name).String()
	}
	return ""
}

// choose finds out which objects are wanted.
func (p *plan) choose() error {
	if p.verb == negotiate.Get {
		return nil
	}
	var err error
	if p.selection, err = newSelection(p.collection, p.namespace, &p.options); err != nil {
		var bad badShards
		if errors.As(err, &bad) {
			p.refusal = bad
			return nil
		}
		return err
	}
	paged := p.options.Limit > 0 || p.page != nil
	if paged && p.selection.narrowed {
		return errNarrowed
	}
	return nil
}

// errNarrowed is returned for pages of what a field selector narrows to a name
// or namespace: their tokens are relative to something else.
var errNarrowed = errors.New("pages of a narrowed list")

// negotiate finds the encoder for what the client takes. Only the upstream
// knows whether it has CBOR, so strictly that is its answer to give.
func (p *plan) negotiate(r *http.Request, o *Options) string {
	resource, client := &p.collection.Resource, response.Negotiation(r, p.info)
	if o.Strict && strings.Contains(client.Accept, codec.MediaCBOR) {
		return reasonFormat
	}
	format, ok := negotiate.Format(client, negotiate.Endpoint{
		Verb: p.verb, Style: resource.Style, CBOR: !o.Strict, Strict: o.Strict, DropManagedFields: o.Features.DropManagedFields,
	})
	if !ok {
		return reasonFormat
	}
	var err error
	if p.encoder, err = encoderFor(p.collection, format); err != nil || (p.verb == negotiate.List && p.encoder.Sorted()) {
		return reasonFormat
	}
	if p.verb == negotiate.Watch && p.options.AllowBookmarks {
		// Only the upstream knows how bookmarks of some kinds are printed.
		if _, err := p.encoder.AppendBookmark(nil, "1", false, false); err != nil {
			return reasonFormat
		}
	}
	return ""
}
