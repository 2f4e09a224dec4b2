package forward

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/forward/transcode"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/upstream"
)

// Options configure a Forwarder. Upstream, Log, Wait and the queues are required.
type Options struct {
	Upstream *upstream.Upstream
	Log      *zap.Logger
	// Queue has the places at the apiserver of authenticated callers, and Unauthenticated those of the others.
	Queue, Unauthenticated *limits.Queue
	// Wait is how long a request waits for its place.
	Wait time.Duration
	// Lasting is the price in bytes of a request that lasts, which has no place.
	Lasting int64
	// Rejected, if not nil, is called with each request whose verified bearer token the upstream has
	// rejected with a 401: its cached review is no longer true.
	Rejected func(*http.Request)
	// Transcode writes responses in formats that the upstream does not support. Otherwise every request is
	// passed as received and the upstream's refusals are final.
	Transcode bool
}

// Forwarder is the http.Handler that passes requests to the upstream.
type Forwarder struct {
	options  Options
	upstream *upstream.Upstream
	log      *zap.Logger
	proxy    httputil.ReverseProxy
}

// passing is the state of a request while it is passed. Its context carries it.
type passing struct {
	ctx      context.Context    // of the request upstream. That of ReverseProxy would pass any number of 1xx responses in the transport's goroutine
	cancel   context.CancelFunc // ends the request upstream without its client
	place    place
	identity http.Header // names the user to the apiserver, if only Sluice has seen the credentials; else nil
	body     *clientBody // nil if there is none
	exchange *transcode.Exchange
}

type passingKey struct{}

func passingOf(r *http.Request) *passing { return r.Context().Value(passingKey{}).(*passing) }

// New returns a Forwarder.
func New(o Options) *Forwarder {
	f := &Forwarder{options: o, upstream: o.Upstream, log: o.Log}
	f.proxy = httputil.ReverseProxy{
		Rewrite:        f.rewrite,
		Transport:      roundTripper(f.roundTrip),
		ModifyResponse: f.inspect,
		ErrorHandler:   f.fail,
		ErrorLog:       zap.NewStdLog(o.Log),
		BufferPool:     &copyBuffers{},
		FlushInterval:  joinFor,
	}
	return f
}

// ServeHTTP passes the request, whose context must carry a request.Info.
func (f *Forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	info.Outcome.Source = request.SourceUpstream
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	p := &passing{cancel: cancel}
	r = r.WithContext(context.WithValue(ctx, passingKey{}, p)) // the only copy: withBody changes it
	if isNamed(info) {
		u, _ := apirequest.UserFrom(ctx)
		var err error
		if p.identity, err = f.identity(u); err != nil {
			f.fail(w, r, err)
			return
		}
	}
	client := newClientWriter(ctx, w, info)
	defer client.deadline.Stop()
	p.place = place{forwarder: f, info: info, end: func() {
		client.evicted.Store(true)
		client.deadline.EndWithin(0)
		cancel()
	}}
	defer p.place.release()
	if f.options.Transcode {
		p.exchange = transcode.Begin(r)
		defer p.exchange.End()
	}
	free, err := p.withBody(w, r)
	if err != nil {
		f.fail(w, r, err)
		return
	}
	defer free()
	defer func() {
		if client.deadline.Expired() {
			info.Outcome.Reason = reasonClientStalled
		}
	}()
	whole := false
	defer func() {
		if info.PassedWatch != nil {
			info.Outcome.End = client.endOf(info.PassedWatch, whole)
		}
	}()
	p.ctx = r.Context()
	f.proxy.ServeHTTP(client, r)
	client.end()
	whole = true
}

// rewrite addresses the request to the upstream. ReverseProxy has removed hop-by-hop headers
// before, so a Connection header cannot remove the headers that are set here.
func (f *Forwarder) rewrite(p *httputil.ProxyRequest) {
	info := request.From(p.In.Context())
	p.Out.URL = f.upstream.Resolve(p.In.URL, request.CanonicalQuery(p.In.URL.RawQuery, info.Subresource == "proxy"))
	p.Out.Host = ""
	if !info.Upgrade {
		p.Out.Header.Del("Connection")
		p.Out.Header.Del("Upgrade")
	}
	p.Out.Trailer = nil // with one the transport does not end a request without a body, and the apiserver waits for it
	restoreForwarded(p.Out.Header, p.In)
	f.removeFrontProxy(p.Out.Header)           // whatever their names
	p.Out.Header.Set("Audit-Id", info.AuditID) // one ID in the logs of both
	if info.PassedWatch != nil {
		p.Out.Header.Del("Accept-Encoding") // see endBetweenEvents
	}
	if identity := passingOf(p.In).identity; identity != nil {
		setIdentity(p.Out.Header, identity)
	}
}

// inspect checks a response before it is passed to the client.
func (f *Forwarder) inspect(resp *http.Response) error {
	info := request.From(resp.Request.Context())
	if resp.StatusCode == http.StatusUnauthorized && info.Caller == request.BearerToken && f.options.Rejected != nil {
		f.options.Rejected(resp.Request)
	}
	if err := f.checkRefusal(resp, info); err != nil {
		return err
	}
	if resp.StatusCode < http.StatusBadRequest {
		if err := passingOf(resp.Request).place.accepted(); err != nil {
			return err
		}
	}
	if err := f.checkRedirect(resp); err != nil {
		return err
	}
	endBetweenEvents(resp, info.PassedWatch)
	joinPieces(resp, info)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Request = nil // net/http would write Content-Length: 0 to a POST, which RFC 9110, section 8.6, forbids
	}
	return nil
}

// restoreForwarded sets the headers about proxies in front of Sluice that ReverseProxy has removed, with the client's address
// added. The audit log of the apiserver reads addresses from the first X-Forwarded-For only.
func restoreForwarded(out http.Header, in *http.Request) {
	for _, name := range []string{"Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values := in.Header[name]; len(values) > 0 {
			out[name] = values
		}
	}
	chain := slices.Clone(in.Header["X-Forwarded-For"])
	if host, _, err := net.SplitHostPort(in.RemoteAddr); err == nil {
		chain = append(chain, host)
	}
	out.Set("X-Forwarded-For", strings.Join(chain, ", "))
}
