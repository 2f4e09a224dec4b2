package forward

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"go.uber.org/zap"

	"sluice/codec"
	"sluice/proxy/reply"
	"sluice/proxy/request"
	"sluice/proxy/upstream"
)

// retrySeconds is what callers are told while the upstream cannot be reached.
const retrySeconds = 1

// Forwarder passes requests upstream.
type Forwarder struct {
	upstream *upstream.Upstream
	log      *zap.Logger
	proxy    httputil.ReverseProxy
}

// New returns a Forwarder.
func New(u *upstream.Upstream, log *zap.Logger) *Forwarder {
	f := &Forwarder{upstream: u, log: log}
	f.proxy = httputil.ReverseProxy{
		Rewrite:      f.rewrite,
		Transport:    roundTripper(f.roundTrip),
		ErrorHandler: f.fail,
		ErrorLog:     zap.NewStdLog(log),
	}
	return f
}

// ServeHTTP passes the request, whose Info must be in its context.
func (f *Forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	if who, _ := apirequest.UserFrom(r.Context()); info.Caller == request.Asserted && !fits(who) {
		info.Outcome.Source = request.FromGateway
		reply.Status(w, r, codec.NewForbiddenPath("the caller cannot be named to the upstream"))
		return
	}
	info.Outcome.Source = request.FromUpstream
	f.proxy.ServeHTTP(prompt{w}, r)
}

// rewrite addresses the request to the upstream. Hop-by-hop headers are gone
// by now, so none that is set here can be named away by Connection.
func (f *Forwarder) rewrite(p *httputil.ProxyRequest) {
	p.Out.URL = f.upstream.Resolve(p.In.URL, p.In.URL.RawQuery)
	p.Out.Host = ""
	forwardedFor(p.Out.Header, p.In)
	stripRemote(p.Out.Header)
	info := request.From(p.In.Context())
	if info.Caller == request.Asserted {
		who, _ := apirequest.UserFrom(p.In.Context())
		f.assert(p.Out.Header, who)
	}
}

// forwardedFor tells the upstream's audit log where the request comes from.
func forwardedFor(out http.Header, in *http.Request) {
	host, _, err := net.SplitHostPort(in.RemoteAddr)
	if err != nil {
		return
	}
	chain := append([]string(nil), in.Header["X-Forwarded-For"]...)
	out["X-Forwarded-For"] = append(chain, host)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// roundTrip picks the transport for the request's caller.
func (f *Forwarder) roundTrip(r *http.Request) (*http.Response, error) {
	info := request.From(r.Context())
	u := f.upstream
	switch {
	case info.Caller == request.Asserted && info.Upgrade:
		return u.AssertingUpgrades.RoundTrip(r)
	case info.Caller == request.Asserted:
		return u.Asserting.RoundTrip(r)
	case info.Upgrade:
		return u.Upgrades.RoundTrip(r)
	case info.Caller == request.Unknown:
		return u.Strangers.RoundTrip(r)
	default:
		return u.Callers.RoundTrip(r)
	}
}

// fail answers a request that the upstream did not.
func (f *Forwarder) fail(w http.ResponseWriter, r *http.Request, err error) {
	info := request.From(r.Context())
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		info.Outcome.Reason = "caller went away"
		panic(http.ErrAbortHandler)
	}
	info.Outcome.Reason = "upstream unreachable"
	f.log.Warn("upstream request failed", zap.String("path", info.Path), zap.Error(err))
	status := codec.NewServiceUnavailable("upstream apiserver cannot be reached")
	status.Details = &codec.Details{RetryAfterSeconds: retrySeconds}
	reply.Status(w, r, status)
}
