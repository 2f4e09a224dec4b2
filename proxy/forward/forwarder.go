package forward

import (
	"net"
	"net/http"
	"net/http/httputil"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/forward/transcode"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/upstream"
)

// Options configure a Forwarder.
type Options struct {
	Upstream *upstream.Upstream
	Log      *zap.Logger
	// Transcoder transcodes formats that the upstream does not support. If nil, every request is
	// passed as received and the upstream's refusals are final.
	Transcoder *transcode.Transcoder
}

// Forwarder is the http.Handler that passes requests to the upstream.
type Forwarder struct {
	upstream   *upstream.Upstream
	log        *zap.Logger
	transcoder *transcode.Transcoder
	proxy      httputil.ReverseProxy
}

// New returns a Forwarder.
func New(o Options) *Forwarder {
	f := &Forwarder{upstream: o.Upstream, log: o.Log, transcoder: o.Transcoder}
	f.proxy = httputil.ReverseProxy{
		Rewrite:      f.rewrite,
		Transport:    roundTripper(f.roundTrip),
		ErrorHandler: f.fail,
		ErrorLog:     zap.NewStdLog(o.Log),
	}
	return f
}

// ServeHTTP passes the request, whose context must carry a request.Info.
func (f *Forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	if u, _ := apirequest.UserFrom(r.Context()); info.Caller == request.ClientCert && !fitsHeaders(u) {
		info.Outcome.Source = request.SourceGateway
		response.Error(w, r, apierrors.NewForbidden(schema.GroupResource{}, "", errUnnamed))
		return
	}
	info.Outcome.Source = request.SourceUpstream
	r, release := f.transcoder.Begin(w, r)
	defer release()
	f.proxy.ServeHTTP(flushing{w}, r)
}

// rewrite addresses the request to the upstream. ReverseProxy has removed hop-by-hop headers
// before, so a Connection header cannot remove the headers that are set here.
func (f *Forwarder) rewrite(p *httputil.ProxyRequest) {
	p.Out.URL = f.upstream.Resolve(p.In.URL, p.In.URL.RawQuery)
	p.Out.Host = ""
	appendForwardedFor(p.Out.Header, p.In)
	removePrefixed(p.Out.Header, frontProxyPrefix)
	if request.From(p.In.Context()).Caller == request.ClientCert {
		u, _ := apirequest.UserFrom(p.In.Context())
		f.setIdentity(p.Out.Header, u)
	}
}

// appendForwardedFor adds the client's address, which the apiserver's audit log records.
func appendForwardedFor(out http.Header, in *http.Request) {
	host, _, err := net.SplitHostPort(in.RemoteAddr)
	if err != nil {
		return
	}
	chain := append([]string(nil), in.Header["X-Forwarded-For"]...)
	out["X-Forwarded-For"] = append(chain, host)
}
