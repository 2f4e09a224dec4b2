package forward

import (
	"fmt"
	"net/http"

	"sluice/proxy/request"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (f *Forwarder) roundTrip(r *http.Request) (*http.Response, error) {
	p := passingOf(r)
	return p.exchange.RoundTrip(r.WithContext(p.ctx), f.send)
}

// send selects the transport by the credentials in the request that is sent, which must be those of
// its caller. Credentials never cross from one transport to another.
func (f *Forwarder) send(r *http.Request) (*http.Response, error) {
	if err := passingOf(r).place.take(r.Context()); err != nil {
		return nil, err
	}
	info := request.From(r.Context())
	u := f.upstream
	if isNamed(info) {
		if !f.namesUser(r.Header) {
			return nil, fmt.Errorf("the request does not name its user, %q", info.User) // or it would be one of Sluice
		}
		if info.Upgrade {
			return u.OnBehalfUpgrades.RoundTrip(r)
		}
		return u.OnBehalf.RoundTrip(r)
	}
	switch {
	case info.Upgrade:
		return u.Upgrades.RoundTrip(r)
	case info.Caller == request.Unauthenticated || r.Header.Get("Authorization") == "":
		// The apiserver closes a connection after a 401.
		return u.Anonymous.RoundTrip(r)
	default:
		return u.Authenticated.RoundTrip(r)
	}
}
