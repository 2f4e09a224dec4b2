package request

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/clients"
	"sluice/proxy/limits"
	"sluice/proxy/trace"
)

// Info is a request, its caller and its outcome. Only the goroutine that serves the request may change it.
type Info struct {
	Parsed
	Identity
	Record

	PassedWatch *PassedWatch // set before a watch passes, if it may end early
	Placed      bool         // the request has its places at the apiserver before it is passed
}

// Parsed is the request as it was sent. It does not change after Parse, but for the name that a field selector requires: see
// ParseName.
type Parsed struct {
	*apirequest.RequestInfo
	Query           url.Values // the parameters that Sluice reads; of repeated ones the first counts
	AuditID         string     // from the header Audit-Id, or a new UUID
	Upgrade         bool       // the request asks to switch protocols, and the apiserver may do so
	Impersonates    bool       // the request has impersonation headers
	LegacyWatchPath bool       // a watch by the deprecated path, as in /api/v1/watch/pods

	tooManyParameters bool
}

// Identity is the caller. Authentication, impersonation and flow control set it before the request is served.
type Identity struct {
	Caller Caller // set by authentication
	User   string // the name of the authenticated caller; empty if Unauthenticated and not anonymous
	// ReviewAgain is set if the caller is not known because the apiserver could not be asked about its token. It asks again,
	// and reports whether there was an answer.
	ReviewAgain func(context.Context) bool
	// Acting is the authenticated caller, nil if it has no name. Impersonated is the user that it acts
	// for, once Sluice has authorized that.
	Acting, Impersonated user.Info
	Account              limits.Account // for whom the request counts; set by flow control
}

// Record is the course of the request. It is written where something happens, and read by the access log, the audit log,
// metrics and traces.
type Record struct {
	Received time.Time  // when the request arrived; set by the access log
	Span     trace.Span // of the request, if it is sampled
	// TokenReview is how long authentication has waited for a review: only the caller says whether the request is sampled.
	TokenReview struct{ Began, Ended time.Time }

	Decision Decision // of Sluice, about a read from the cache or an impersonation
	Outcome  Outcome  // set by the handler that responds
	Encoded  int64    // how much of the body Sluice has compressed, in bytes before that
	Scanned  int64    // objects that a list from the cache has passed over, as at the apiserver
	Listed   int64    // bytes of initial events of a watch from the cache, as they are stored
	Events   int64    // sent to a watch from the cache, without initial events

	Watch *clients.OpenWatch // set when the response to a watch begins; may be nil
}

// GroupVersionResource returns the resource of a request for one.
func (i *Parsed) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: i.APIGroup, Version: i.APIVersion, Resource: i.Resource}
}

// Waits returns the caller under whose name the request waits in queues: the holder of its credentials, with the rank of the
// user that it impersonates.
func (i *Identity) Waits() limits.Caller {
	u := i.Acting
	if i.Impersonated != nil {
		u = i.Impersonated
	}
	return limits.Caller{Group: i.Account.Group, Reserved: limits.IsSystem(u)}
}

// Caller is how a request was authenticated.
type Caller uint8

const (
	// Unauthenticated means no credentials, or none that Sluice could verify.
	Unauthenticated Caller = iota
	// BearerToken means a bearer token that a TokenReview verified.
	BearerToken
	// ClientCert means a client certificate. Only Sluice has seen it, so a forwarded request must
	// name its caller in headers.
	ClientCert
)

// Decision is a decision about an access, in the words of the apiserver's audit annotations.
type Decision struct {
	Verdict string // Allow or Forbid; empty if Sluice has decided nothing
	Reason  string // of the authorizer
}

// The values of Decision.Verdict.
const (
	Allow  = "allow"
	Forbid = "forbid"
)

// Outcome describes the response for logs and metrics.
type Outcome struct {
	Source string // SourceCache, SourceUpstream or SourceGateway
	Reason string // how the cache served the request, or why it was forwarded; a kebab-case token
	Format string // the encoding of the body, if Sluice encoded it
	AsOf   AsOf   // the state that a response from the cache shows
	// End is how a watch ended; empty while it is open, and of other requests.
	End WatchEnd
	// Transcoded reports whether Sluice converted the response to a forwarded request.
	Transcoded bool
	// Unanswered reports whether Sluice wrote the error of a forwarded request, because the upstream has
	// not responded.
	Unanswered bool
}

// The values of Outcome.Source.
const (
	SourceCache    = "cache"
	SourceUpstream = "upstream"
	SourceGateway  = "gateway" // Sluice itself rejected the request
)

var factory = apirequest.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// Parse returns the Info of r. The error is the apiserver's for a path that it rejects; the Info is
// valid in either case.
func Parse(r *http.Request) (*Info, error) {
	query := parseQuery(r.URL.RawQuery)
	parsed, err := parse(r, query)
	return &Info{Parsed: Parsed{
		LegacyWatchPath: parsed != nil && parsed.IsResourceRequest && parsed.Verb == "watch" &&
			strings.HasPrefix(afterVersion(parsed), "watch/"),
		RequestInfo:       parsed,
		Query:             query,
		tooManyParameters: strings.Count(r.URL.RawQuery, "&") >= maxParameters,
		AuditID:           auditID(r),
		Upgrade:           asksToSwitch(r.Header) && maySwitch(parsed),
		Impersonates:      impersonates(r.Header),
	}}, err
}

// asksToSwitch reports whether a request with these headers asks to switch protocols.
func asksToSwitch(h http.Header) bool {
	return httpguts.HeaderValuesContainsToken(h["Connection"], "upgrade")
}

// maySwitch reports whether the apiserver may answer a request by switching protocols. It ignores an
// upgrade of other requests, and Sluice must: sessions take no places.
func maySwitch(i *apirequest.RequestInfo) bool {
	switch {
	case i == nil || !i.IsResourceRequest:
		return false
	case i.Verb == "watch":
		return true
	case i.APIGroup == "":
		return proxied(i.Subresource)
	}
	// of an API that may be aggregated
	return i.Subresource != "" && i.Subresource != "status" && i.Subresource != "scale"
}

// maxParameters is the number of query parameters from which a request is not served from the cache:
// net/url ignores parameters above a limit that differs between Go releases.
const maxParameters = 1000

// parse returns the result of the apiserver's RequestInfoFactory, except for the name that a field
// selector requires, which Info.ParseName sets: callers are not authenticated yet, and the factory
// takes half a second to parse a selector of a megabyte. It also logs a query that it cannot decode,
// including any token in it.
func parse(r *http.Request, query url.Values) (*apirequest.RequestInfo, error) {
	bare := *r
	bare.URL = &url.URL{Path: r.URL.Path}
	info, err := factory.NewRequestInfo(&bare)
	switch info.Verb {
	case "list":
		if boolean(query, "watch") {
			info.Verb = "watch"
		}
		fallthrough
	case "deletecollection":
		info.FieldSelector, info.LabelSelector = query.Get("fieldSelector"), query.Get("labelSelector")
	}
	return info, err
}

// afterVersion returns the rest of the path after the API version.
func afterVersion(i *apirequest.RequestInfo) string {
	return strings.TrimPrefix(i.Path, GroupVersionPath(i.APIGroup, i.APIVersion)+"/")
}

func auditID(r *http.Request) string {
	if id := r.Header.Get("Audit-Id"); id != "" {
		return id
	}
	return uuid.NewString()
}

func impersonates(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "Impersonate-") { // net/http canonicalizes header names
			return true
		}
	}
	return false
}

// CanonicalPath reports whether the path names a collection (in all namespaces or in one) or an object
// in the only spelling that Sluice serves from the cache, without a subresource and without empty or
// additional segments. It is false for a query with too many parameters.
func (i *Parsed) CanonicalPath() bool {
	return i.IsResourceRequest && i.Resource != "" && i.Subresource == "" && !i.tooManyParameters &&
		len(i.Parts) <= 2 && i.Path == i.canonicalPath()
}

func (i *Parsed) canonicalPath() string {
	var b strings.Builder
	b.WriteString(GroupVersionPath(i.APIGroup, i.APIVersion) + "/")
	if i.LegacyWatchPath {
		b.WriteString("watch/")
	}
	if i.Namespace != "" && i.Resource != "namespaces" {
		b.WriteString("namespaces/" + i.Namespace + "/")
	}
	b.WriteString(strings.Join(i.Parts, "/"))
	return b.String()
}

// Proxied reports whether the apiserver passes the request on, by its subresource, to a kubelet, a pod
// or a service.
func (i *Parsed) Proxied() bool { return proxied(i.Subresource) }

func proxied(subresource string) bool {
	switch subresource {
	case "proxy", "log", "exec", "attach", "portforward":
		return true
	}
	return false
}

// Audits reports whether Sluice's audit log has the request. The apiserver's lacks it, or may lack it, if Sluice itself has
// responded, and does not name a caller that impersonates by a certificate, which only Sluice has seen.
func (i *Info) Audits() bool {
	return i.Outcome.Source != SourceUpstream || i.Outcome.Unanswered || i.Caller == ClientCert && i.Impersonates
}

// Nameable reports whether the resource has a name in UTF-8, as labels of metrics must.
func (i *Parsed) Nameable() bool {
	return utf8.ValidString(i.APIGroup + i.APIVersion + i.Resource + i.Subresource)
}

// Unreviewed reports whether the caller is not known because the apiserver could not be asked about its token.
func (i *Identity) Unreviewed() bool { return i.ReviewAgain != nil }

type key struct{}

// With returns a context that carries info.
func With(ctx context.Context, info *Info) context.Context {
	ctx = apirequest.WithRequestInfo(ctx, info.RequestInfo)
	return context.WithValue(ctx, key{}, info)
}

// SetContext makes ctx the context of r itself: of a copy both would last as long as a watch.
func SetContext(r *http.Request, ctx context.Context) { *r = *r.WithContext(ctx) }

// From returns the Info that ctx carries. It panics if there is none.
func From(ctx context.Context) *Info {
	return ctx.Value(key{}).(*Info)
}

// Lookup returns the Info that ctx carries; nil if there is none, as for paths of Sluice itself.
func Lookup(ctx context.Context) *Info {
	info, _ := ctx.Value(key{}).(*Info)
	return info
}
