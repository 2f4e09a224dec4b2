package serve

import (
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec"
	"sluice/proxy/mirror"
	"sluice/proxy/reply"
	"sluice/proxy/request"
)

// Collections is where the cached resources are.
type Collections interface {
	// Collection returns a resource's collection, or nil and why there is
	// none.
	Collection(r schema.GroupVersionResource) (*mirror.Collection, string)
}

// Access decides who may read.
type Access interface {
	// Allowed reports whether the verified caller of r may read what it asks
	// for.
	Allowed(r *http.Request) bool
	// Holds reports whether the caller of an open watch is still who they
	// were and still allowed. An error means that this cannot be found out.
	Holds(r *http.Request) (bool, error)
}

// Options sets up Reads.
type Options struct {
	Collections Collections
	Access      Access
	// Next takes what is not served here.
	Next http.Handler
	// Recheck is how often the access of an open watch is checked again.
	Recheck time.Duration
	// Draining is closed when watches have to end, spread over Grace.
	Draining <-chan struct{}
	Grace    time.Duration
	Metrics  *Metrics
}

// Reads serves lists and watches out of the cache.
type Reads struct{ options Options }

// New returns Reads.
func New(o Options) *Reads { return &Reads{o} }

// The reasons why a request is passed, beside those of the mirror.
const (
	reasonNotARead      = "not a read of a collection"
	reasonUnknownCaller = "unknown caller"
	reasonImpersonation = "impersonation"
	reasonOptions       = "options"
	reasonMostRecent    = "most recent state"
	reasonNotAllowed    = "not allowed"
	reasonScope         = "wrong scope"
	reasonFormat        = "format"
	reasonAhead         = "version not reached"
	reasonHistory       = "version before history"
)

// plan is what is to be served.
type plan struct {
	collection *mirror.Collection
	encoder    *mirror.Encoder
	options    request.ReadOptions
	version    uint64 // options.ResourceVersion as a number
}

func (s *Reads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	p, reason := s.plan(r, info)
	if reason == "" {
		if info.Verb == "watch" {
			reason = s.watch(w, r, p)
		} else {
			reason = s.list(w, r, p)
		}
	}
	if reason != "" {
		info.Outcome.Reason = reason
		s.options.Next.ServeHTTP(w, r)
	}
}

// plan decides whether the request can be served, cheap questions first. It
// returns a reason if it cannot.
func (s *Reads) plan(r *http.Request, info *request.Info) (*plan, string) {
	p := &plan{}
	if reason := candidate(r, info); reason != "" {
		return nil, reason
	}
	if reason := p.parse(info); reason != "" {
		return nil, reason
	}
	if !s.options.Access.Allowed(r) {
		return nil, reasonNotAllowed
	}
	var reason string
	gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	if p.collection, reason = s.options.Collections.Collection(gvr); p.collection == nil {
		return nil, reason
	}
	if info.Namespace != "" && !p.collection.Resource.Namespaced {
		return nil, reasonScope
	}
	return p, p.negotiate(r, info)
}

// candidate tells at a glance what cannot be served.
func candidate(r *http.Request, info *request.Info) string {
	read := info.Verb == "list" || info.Verb == "watch"
	if r.Method != http.MethodGet || !read || info.Upgrade || !info.Collection() {
		return reasonNotARead
	}
	if info.Caller == request.Unknown {
		return reasonUnknownCaller
	}
	if info.Caller == request.Bearer && info.ActsFor {
		return reasonImpersonation
	}
	return ""
}

// negotiate finds the encoder for what the client takes.
func (p *plan) negotiate(r *http.Request, info *request.Info) string {
	verb := codec.List
	if info.Verb == "watch" {
		verb = codec.Watch
	}
	resource := &p.collection.Resource
	decision := codec.Negotiate(reply.Client(r, info), codec.Target{
		Verb: verb, Style: resource.Style, Group: resource.Group, Kind: resource.Kind,
	})
	if decision.Refusal != nil || !served(decision.Format) {
		return reasonFormat
	}
	var err error
	if p.encoder, err = p.collection.Encoder(decision.Format); err != nil {
		return reasonFormat
	}
	return ""
}

// served reports whether the format is one that is written from the cache.
func served(f codec.Format) bool {
	return (f.Encoding == codec.JSON || f.Encoding == codec.Protobuf) && f.Shape == codec.Object
}
