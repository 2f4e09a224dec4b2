package forward

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"go.uber.org/zap"

	"sluice/codec"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/upstream"
)

// retrySeconds is what callers are told while the upstream cannot be reached.
const retrySeconds = 1

// maxDecoding is how many request bodies are converted at a time: little may
// become much in memory while it is.
const maxDecoding = 2

// Options sets up a Forwarder.
type Options struct {
	Upstream *upstream.Upstream
	Log      *zap.Logger
	// Strict leaves it at the formats that the upstream itself has.
	Strict bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Forwarder passes requests upstream.
type Forwarder struct {
	upstream *upstream.Upstream
	log      *zap.Logger
	strict   bool
	proxy    httputil.ReverseProxy
	lacks    lacks
	known    *room         // for bodies of callers who are known
	unknown  *room         // and of those who are not, apart, so that they cannot take it all
	decoding chan struct{} // has a place for each body that is converted
}

// New returns a Forwarder.
func New(o Options) *Forwarder {
	f := &Forwarder{upstream: o.Upstream, log: o.Log, strict: o.Strict, lacks: lacks{now: o.Now}}
	if o.Now == nil {
		f.lacks.now = time.Now
	}
	f.known, f.unknown = newRoom(knownRoom, knownRoom/shares), newRoom(unknownRoom, unknownRoom)
	f.decoding = make(chan struct{}, maxDecoding)
	f.proxy = httputil.ReverseProxy{
		Rewrite:      f.rewrite,
		Transport:    roundTripper(f.exchange),
		ErrorHandler: f.fail,
		ErrorLog:     zap.NewStdLog(o.Log),
	}
	return f
}

// ServeHTTP passes the request, whose Info must be in its context.
func (f *Forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	if who, _ := apirequest.UserFrom(r.Context()); info.Caller == request.ClientCert && !fits(who) {
		info.Outcome.Source = request.SourceGateway
		response.Status(w, r, codec.NewForbiddenPath("the caller cannot be named to the upstream"))
		return
	}
	info.Outcome.Source = request.SourceUpstream
	if t := f.translation(w, r, info); t != nil {
		defer t.lease.end()
		r = r.WithContext(context.WithValue(r.Context(), translationKey{}, t))
	}
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
	if info.Caller == request.ClientCert {
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

// translationKey is where the context has the request's translation.
type translationKey struct{}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// exchange sends the request as it came, or more than once if the upstream
// lacks a format that can be made up for.
func (f *Forwarder) exchange(r *http.Request) (*http.Response, error) {
	if t, ok := r.Context().Value(translationKey{}).(*translation); ok {
		return t.translate(r)
	}
	return f.send(r)
}

// errSwitched is returned when the upstream leaves HTTP though nobody asked.
var errSwitched = errors.New("upstream switched protocols unasked")

// send picks the transport for the request's caller.
func (f *Forwarder) send(r *http.Request) (*http.Response, error) {
	info := request.From(r.Context())
	u := f.upstream
	switch {
	case info.Caller == request.ClientCert && info.Upgrade:
		return u.OnBehalfUpgrades.RoundTrip(r)
	case info.Caller == request.ClientCert:
		return u.OnBehalf.RoundTrip(r)
	case info.Upgrade:
		return u.Upgrades.RoundTrip(r)
	case info.Caller == request.Unauthenticated:
		return u.Anonymous.RoundTrip(r)
	default:
		return u.Authenticated.RoundTrip(r)
	}
}

// fail answers a request that the upstream did not.
func (f *Forwarder) fail(w http.ResponseWriter, r *http.Request, err error) {
	info := request.From(r.Context())
	var refusal *codec.Status
	switch {
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil, errors.Is(err, errUpload):
		info.Outcome.Reason = "caller went away"
		panic(http.ErrAbortHandler)
	case errors.Is(err, errCut):
		info.Outcome.Reason = "answer was cut"
		f.log.Warn("upstream answer was cut", zap.String("path", info.Path), zap.Error(err))
		panic(http.ErrAbortHandler) // as when it is passed byte for byte
	case errors.As(err, &refusal):
		info.Outcome.Source = request.SourceGateway
		response.Status(w, r, refusal)
		return
	}
	info.Outcome.Reason = "upstream unreachable"
	f.log.Warn("upstream request failed", zap.String("path", info.Path), zap.Error(err))
	status := codec.NewServiceUnavailable("upstream apiserver cannot be reached")
	status.Details = &codec.Details{RetryAfterSeconds: retrySeconds}
	response.Status(w, r, status)
}
