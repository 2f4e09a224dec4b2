package upstream

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Options sets up an Upstream.
type Options struct {
	// Config says where the apiserver is and how Sluice identifies itself.
	Config *rest.Config
	// UserAgent is that of Sluice's own requests.
	UserAgent string
	// FrontProxy, if its CertFile is set, is the client certificate by which
	// the apiserver trusts the X-Remote-* headers of Sluice. Without it,
	// callers known by certificate are forwarded by impersonation.
	FrontProxy KeyPair
	// Wrap, if not nil, is put around every transport; purpose says what it
	// is for.
	Wrap func(purpose string, rt http.RoundTripper) http.RoundTripper
}

// KeyPair names the files of a certificate and its key.
type KeyPair struct{ CertFile, KeyFile string }

// Upstream leads to one apiserver, or to several behind one address.
type Upstream struct {
	// Authenticated carries requests whose caller is known, over shared HTTP/2
	// connections.
	Authenticated http.RoundTripper
	// Anonymous carries requests whose caller is not known. The apiserver
	// closes connections on which it sees a 401, so they share none with
	// others.
	Anonymous http.RoundTripper
	// Upgrades carries requests for another protocol, which needs HTTP/1.1.
	Upgrades http.RoundTripper
	// OnBehalf carries requests that name their caller by headers, with the
	// right to do so, and OnBehalfUpgrades the upgrades among them.
	OnBehalf, OnBehalfUpgrades http.RoundTripper
	// Self carries the requests of Sluice itself.
	Self http.RoundTripper

	// FrontProxy says that OnBehalf speaks X-Remote-*, not Impersonate-*.
	FrontProxy bool

	base   *url.URL
	config *rest.Config
}

// New returns the Upstream that options describe.
func New(o Options) (*Upstream, error) {
	base, _, err := rest.DefaultServerUrlFor(o.Config)
	if err != nil {
		return nil, fmt.Errorf("upstream address: %w", err)
	}
	base.Path, base.RawPath = strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(base.RawPath, "/")
	u := &Upstream{base: base, config: rest.CopyConfig(o.Config), FrontProxy: o.FrontProxy.CertFile != ""}
	anonymous := rest.AnonymousClientConfig(o.Config)
	onBehalf := o.Config
	if u.FrontProxy {
		onBehalf = rest.CopyConfig(anonymous)
		onBehalf.CertFile, onBehalf.KeyFile = o.FrontProxy.CertFile, o.FrontProxy.KeyFile
	}
	for _, t := range []struct {
		to      *http.RoundTripper
		purpose string
		config  *rest.Config
		http1   bool
		agent   string
	}{
		{&u.Authenticated, "authenticated", anonymous, false, ""},
		{&u.Anonymous, "anonymous", anonymous, true, ""},
		{&u.Upgrades, "upgrade", anonymous, true, ""},
		{&u.OnBehalf, "on-behalf", onBehalf, false, ""},
		{&u.OnBehalfUpgrades, "upgrade", onBehalf, true, ""},
		{&u.Self, "self", o.Config, false, o.UserAgent},
	} {
		if *t.to, err = transport(t.config, t.http1, t.agent); err != nil {
			return nil, fmt.Errorf("upstream transport: %w", err)
		}
		if o.Wrap != nil {
			*t.to = o.Wrap(t.purpose, *t.to)
		}
	}
	return u, nil
}

// transport makes a transport that leaves content encoding to its user, and
// the user agent too unless one is given.
func transport(config *rest.Config, http1 bool, agent string) (http.RoundTripper, error) {
	c := rest.CopyConfig(config)
	c.DisableCompression = true
	c.UserAgent = agent
	if http1 {
		c.NextProtos = []string{"http/1.1"}
	}
	return rest.TransportFor(c)
}

// Client returns a client for Sluice's own requests. It is not limited: what
// it is asked for is cached, and a limit would be one on callers.
func (u *Upstream) Client() (*kubernetes.Clientset, error) {
	c := rest.CopyConfig(u.config)
	c.QPS = -1
	return kubernetes.NewForConfigAndClient(c, &http.Client{Transport: u.Self})
}

// Address returns the upstream's URL.
func (u *Upstream) Address() string { return u.base.String() }

// Resolve returns the URL at the upstream for a path, which keeps its
// escaping, and a query.
func (u *Upstream) Resolve(path *url.URL, rawQuery string) *url.URL {
	out := *u.base
	out.Path = u.base.Path + path.Path
	out.RawPath = u.base.EscapedPath() + path.EscapedPath()
	out.RawQuery, out.ForceQuery = rawQuery, path.ForceQuery
	return &out
}

// Close closes the idle connections.
func (u *Upstream) Close() {
	for _, rt := range []http.RoundTripper{u.Authenticated, u.Anonymous, u.Upgrades, u.OnBehalf, u.OnBehalfUpgrades, u.Self} {
		utilnet.CloseIdleConnectionsFor(rt)
	}
}
