package upstream

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Options configures an Upstream.
type Options struct {
	// Config is the address of the apiserver and the credentials of Sluice.
	Config *rest.Config
	// UserAgent is the User-Agent of Sluice's own requests.
	UserAgent string
	// FrontProxy is the client certificate with which the apiserver trusts the X-Remote-* headers
	// that Sluice sends. With an empty CertFile, requests of callers with a client certificate are
	// forwarded by impersonation instead.
	FrontProxy KeyPair
	// HeaderNames are the headers in which the apiserver expects the user from a front proxy. If nil,
	// FollowHeaderNames reads them from the apiserver.
	HeaderNames *HeaderNames
	// Accepted are the headers in which Sluice accepts users from a front proxy.
	Accepted HeaderNames
	// Compress asks the apiserver to compress its responses to Sluice's own requests.
	Compress bool
	// Wrap, if not nil, wraps every transport. purpose is the transport's value of the metric label
	// purpose.
	Wrap func(purpose string, rt http.RoundTripper) http.RoundTripper
}

// KeyPair holds the paths of a PEM certificate and its private key.
type KeyPair struct{ CertFile, KeyFile string }

// Upstream holds the transports to one apiserver, or to several behind one address. No two of them
// share a connection.
type Upstream struct {
	// Authenticated sends requests with the bearer token of a verified caller, over shared HTTP/2
	// connections. It adds no credentials.
	Authenticated http.RoundTripper
	// Anonymous sends requests of unauthenticated callers over HTTP/1.1. It adds no credentials. The
	// apiserver closes a connection after a 401, so these requests must not share one with others.
	Anonymous http.RoundTripper
	// Upgrades sends requests to switch protocols, which need HTTP/1.1. It adds no credentials.
	Upgrades http.RoundTripper
	// OnBehalf sends requests that name their caller in headers, with the credentials that permit
	// this. OnBehalfUpgrades does the same for requests to switch protocols.
	OnBehalf, OnBehalfUpgrades http.RoundTripper
	// Self sends Sluice's own requests, with its credentials.
	Self http.RoundTripper

	// Clock is the apiserver's, which Health reads.
	Clock Clock

	// FrontProxy reports whether OnBehalf requires the headers of HeaderNames; otherwise it requires
	// Impersonate-* headers.
	FrontProxy bool

	base    *url.URL
	config  *rest.Config
	contact contact

	headerNames      atomic.Pointer[HeaderNames]
	accepted         HeaderNames
	fixedHeaderNames bool
}

// New returns an Upstream. It makes no connection yet.
func New(o Options) (*Upstream, error) {
	base, _, err := rest.DefaultServerUrlFor(o.Config)
	if err != nil {
		return nil, fmt.Errorf("upstream address: %w", err)
	}
	base.Path, base.RawPath = strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(base.RawPath, "/")
	u := &Upstream{base: base, config: rest.CopyConfig(o.Config), FrontProxy: o.FrontProxy.CertFile != ""}
	u.headerNames.Store(o.HeaderNames)
	u.fixedHeaderNames, u.accepted = o.HeaderNames != nil, o.Accepted
	anonymous := rest.AnonymousClientConfig(o.Config)
	own, err := withTokenFile(o.Config)
	if err != nil {
		return nil, fmt.Errorf("upstream token: %w", err)
	}
	onBehalf := own
	if u.FrontProxy {
		onBehalf = rest.CopyConfig(anonymous)
		onBehalf.CertFile, onBehalf.KeyFile = o.FrontProxy.CertFile, o.FrontProxy.KeyFile
	}
	for _, t := range []struct {
		to      *http.RoundTripper
		purpose string
		transportOptions
	}{
		{&u.Authenticated, "authenticated", transportOptions{config: anonymous}},
		{&u.Anonymous, "anonymous", transportOptions{config: anonymous, http1: true}},
		// The apiserver closes the connection of an upgrade that it refuses, without having said so.
		{&u.Upgrades, "upgrade", transportOptions{config: anonymous, http1: true, once: true}},
		{&u.OnBehalf, "on-behalf", transportOptions{config: onBehalf}},
		{&u.OnBehalfUpgrades, "upgrade", transportOptions{config: onBehalf, http1: true, once: true}},
		{&u.Self, "self", transportOptions{config: own, agent: o.UserAgent, compress: o.Compress}},
	} {
		if *t.to, err = newTransport(t.transportOptions); err != nil {
			return nil, fmt.Errorf("upstream transport: %w", err)
		}
		if o.Wrap != nil {
			*t.to = o.Wrap(t.purpose, *t.to)
		}
		*t.to = gate{*t.to, u, t.to == &u.Self}
	}
	return u, nil
}

// Reviews returns a function that creates a review, such as a TokenReview, through a transport, which decides about
// credentials. It fills answer, an object of the same type. It has no client-side rate limit, which would delay callers, and
// follows no redirects: every request carries the token of Sluice, and a review that of a caller.
func (u *Upstream) Reviews(rt http.RoundTripper) (func(ctx context.Context, review, answer runtime.Object) error, error) {
	c := rest.CopyConfig(u.config)
	c.QPS = -1
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	// JSON would change a name that is no UTF-8 into that of another user.
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	client, err := rest.UnversionedRESTClientForConfigAndClient(c, &http.Client{
		Transport:     rt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	return func(ctx context.Context, review, answer runtime.Object) error {
		kinds, _, err := scheme.Scheme.ObjectKinds(review)
		if err != nil {
			return err
		}
		if u.Away() {
			return ErrAway
		}
		at, _ := meta.UnsafeGuessKindToResource(kinds[0])
		return client.Post().AbsPath("/apis", at.Group, at.Version, at.Resource).Body(review).Do(ctx).Into(answer)
	}, err
}

// Address returns the URL of the apiserver.
func (u *Upstream) Address() string { return u.base.String() }

// Resolve returns the URL of a path and query at the apiserver. It keeps the escaping of the path.
func (u *Upstream) Resolve(path *url.URL, rawQuery string) *url.URL {
	out := *u.base
	out.Path = u.base.Path + path.Path
	out.RawPath = u.base.EscapedPath() + path.EscapedPath()
	out.RawQuery, out.ForceQuery = rawQuery, path.ForceQuery
	return &out
}

// Relative returns the path, query and fragment of a URL at the apiserver without the path of Address. It
// returns false for the URL of another server.
func (u *Upstream) Relative(at *url.URL) (string, bool) {
	path, within := strings.CutPrefix(at.EscapedPath(), u.base.EscapedPath())
	decoded, err := url.PathUnescape(path)
	if !strings.EqualFold(at.Scheme, u.base.Scheme) || !strings.EqualFold(at.Host, u.base.Host) || at.User != nil ||
		!within || err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return "", false
	}
	return (&url.URL{Path: decoded, RawPath: path, RawQuery: at.RawQuery, Fragment: at.Fragment}).String(), true
}

// Close closes the idle connections of all transports.
func (u *Upstream) Close() {
	for _, rt := range []http.RoundTripper{u.Authenticated, u.Anonymous, u.Upgrades, u.OnBehalf, u.OnBehalfUpgrades, u.Self} {
		utilnet.CloseIdleConnectionsFor(rt)
	}
}
