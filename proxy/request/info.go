package request

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Info is what there is to know about a request. The fields above the line do
// not change after Parse; those below are filled in on the request's way and
// belong to the goroutine that serves it.
type Info struct {
	*apirequest.RequestInfo
	Query           url.Values // first values count; malformed pairs are dropped
	AuditID         string     // the request's own, or a new one
	Upgrade         bool       // asks for another protocol
	Impersonates    bool       // asks to impersonate somebody
	LegacyWatchPath bool       // a watch asked for by the deprecated path: /api/v1/watch/pods
	crowded         bool       // has more parameters than anybody means

	Caller  Caller
	User    string // the verified caller's name
	Outcome Outcome
}

// Caller says how a request identifies itself.
type Caller uint8

const (
	// Unauthenticated callers sent no credentials, or none that could be verified.
	Unauthenticated Caller = iota
	// BearerToken callers sent a token that was verified.
	BearerToken
	// ClientCert callers were verified by this gateway alone, by a client
	// certificate: the upstream has to be told who they are.
	ClientCert
)

// Outcome is how a request was answered, for logs and metrics.
type Outcome struct {
	Source string // SourceCache, SourceUpstream or SourceGateway
	Reason string // how it came out of the cache, or why it went upstream
	Format string // the encoding, where Sluice made it
	// Transcoded says that a passed request or its answer was converted.
	Transcoded bool
}

// The sources of answers.
const (
	SourceCache    = "cache"
	SourceUpstream = "upstream"
	SourceGateway  = "gateway" // refused here
)

var factory = apirequest.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// Parse returns the Info of r. It fails for paths that cannot be understood,
// which the upstream refuses as well.
func Parse(r *http.Request) (*Info, error) {
	query, _ := url.ParseQuery(r.URL.RawQuery) // drops malformed pairs, as the apiserver does
	parsed, err := parse(r, query)
	return &Info{
		LegacyWatchPath: parsed != nil && parsed.IsResourceRequest && parsed.Verb == "watch" && strings.HasPrefix(afterVersion(parsed), "watch/"),
		RequestInfo:     parsed,
		Query:           query,
		crowded:         strings.Count(r.URL.RawQuery, "&") >= maxParameters,
		AuditID:         auditID(r),
		Upgrade:         headerHasToken(r.Header["Connection"], "upgrade"),
		Impersonates:    impersonates(r.Header),
	}, err
}

// maxParameters bounds the parameters of a query that is answered here: how
// many are read at all depends on the release of Go.
const maxParameters = 1000

// parse does what the apiserver does, but for one line in the log: of a query
// that cannot be decoded it would print everything, tokens if there are any.
// All that is made of such a query is written out here.
func parse(r *http.Request, query url.Values) (*apirequest.RequestInfo, error) {
	if len(query) == 0 || scheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, &internalversion.ListOptions{}) == nil {
		return factory.NewRequestInfo(r)
	}
	bare := *r
	bare.URL = &url.URL{Path: r.URL.Path}
	info, err := factory.NewRequestInfo(&bare)
	switch info.Verb {
	case "list":
		if truth(query, "watch") {
			info.Verb = "watch"
		}
		fallthrough
	case "deletecollection":
		info.FieldSelector, info.LabelSelector = query.Get("fieldSelector"), query.Get("labelSelector")
	}
	return info, err
}

// afterVersion returns what follows the API version in the path.
func afterVersion(i *apirequest.RequestInfo) string {
	return strings.TrimPrefix(i.Path, versionPath(i))
}

// versionPath returns the path of the API version, with a slash at its end.
func versionPath(i *apirequest.RequestInfo) string {
	path := "/" + i.APIPrefix + "/"
	if i.APIGroup != "" {
		path += i.APIGroup + "/"
	}
	return path + i.APIVersion + "/"
}

func auditID(r *http.Request) string {
	if id := r.Header.Get("Audit-Id"); id != "" {
		return id
	}
	return uuid.NewString()
}

// headerHasToken reports whether one of the comma-separated values is token,
// in any case (RFC 9110, section 7.6.1).
func headerHasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

func impersonates(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "Impersonate-") { // net/http has made it canonical
			return true
		}
	}
	return false
}

// CanonicalPath reports whether the request names a collection of a resource, all of it
// or one namespace, or an object in it, by the plain path.
func (i *Info) CanonicalPath() bool {
	return i.IsResourceRequest && i.Resource != "" && i.Subresource == "" && !i.crowded &&
		len(i.Parts) <= 2 && i.Path == i.plainPath()
}

func (i *Info) plainPath() string {
	var b strings.Builder
	b.WriteString(versionPath(i.RequestInfo))
	if i.LegacyWatchPath {
		b.WriteString("watch/")
	}
	if i.Namespace != "" && i.Resource != "namespaces" {
		b.WriteString("namespaces/" + i.Namespace + "/")
	}
	b.WriteString(strings.Join(i.Parts, "/"))
	return b.String()
}

type key struct{}

// With returns a context that carries info.
func With(ctx context.Context, info *Info) context.Context {
	ctx = apirequest.WithRequestInfo(ctx, info.RequestInfo)
	return context.WithValue(ctx, key{}, info)
}

// From returns the Info that ctx carries. It must be there.
func From(ctx context.Context) *Info {
	return ctx.Value(key{}).(*Info)
}
