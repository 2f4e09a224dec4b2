package forward

import (
	"net/http"

	"sluice/proxy/request"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (f *Forwarder) roundTrip(r *http.Request) (*http.Response, error) {
	return f.transcoder.RoundTrip(r, f.send)
}

// send selects the transport by how the request is authenticated. Credentials never cross from one
// transport to another.
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
