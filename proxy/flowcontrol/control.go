package flowcontrol

import (
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/request"
	"sluice/proxy/response"
)

// The reasons why Sluice answers 429, as they stand in metrics and the access log.
const (
	TooManyPerSecond   = "too-many-per-second"  // by Options.Rate
	TooManyAtOnce      = "too-many-at-once"     // by Options.Limits
	TooManyConnections = "too-many-connections" // by the limit of Listener per user
	TooManyUpstream    = "too-many-upstream"    // by UpstreamLimits
)

// anonymousShare is the share of each total that unauthenticated callers may have together, so that
// they never take all places.
const anonymousShare = 4

// Options sets up a Control. All limits must be positive.
type Options struct {
	Limits map[Class]Limit // for every Class
	Rate   Rate            // for reads, watches and sessions of a user, and as much for writes and leases
	// Wait is how long a read or write may wait for a place.
	Wait time.Duration
}

// Control admits requests.
type Control struct {
	gates     map[Class]*gate
	anonymous map[Class]*gate // for unauthenticated callers
	rates     map[bool]*rates // by Class.changes
}

// New returns a Control.
func New(o Options) *Control {
	c := &Control{
		gates: map[Class]*gate{}, anonymous: map[Class]*gate{},
		rates: map[bool]*rates{false: newRates(o.Rate), true: newRates(o.Rate)},
	}
	for _, class := range classes {
		c.gates[class], c.anonymous[class] = newGate(Limit{}, 0), newGate(Limit{}, 0)
	}
	c.SetLimits(o)
	return c
}

// SetLimits changes what callers may use from now on. Requests that run go on.
func (c *Control) SetLimits(o Options) {
	for _, class := range classes {
		l, wait := o.Limits[class], o.Wait
		if !class.queues() {
			wait = 0
		}
		c.gates[class].set(l, wait)
		l.Total = max(1, l.Total/anonymousShare)
		c.anonymous[class].set(l, wait)
	}
	for _, r := range c.rates {
		r.set(o.Rate)
	}
}

// WithFlowControl is a filter that serves a request once it has a place, or answers 429. It limits an
// authenticated caller by name, and others by address. A caller that impersonates counts itself: it
// holds the credentials, and could name any number of users.
func (c *Control) WithFlowControl(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		class, key, gates := ClassOf(info), keyOf(r, info), c.gates
		if info.Caller == request.Unauthenticated {
			gates = c.anonymous
		}
		info.LimitKey = key
		if conn := connFrom(r.Context()); info.Caller != request.Unauthenticated && conn != nil && !conn.assign(key) {
			w.Header().Set("Connection", "close") // an HTTP/2 server sends GOAWAY
			refuse(w, r, TooManyConnections, "connections")
			return
		}
		if !c.rates[class.changes()].allow(key, time.Now()) {
			refuse(w, r, TooManyPerSecond, "requests per second")
			return
		}
		leave, err := gates[class].enter(r.Context(), key)
		if err != nil {
			refuse(w, r, TooManyAtOnce, string(class)+" at once")
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// keyOf returns whose limits a request counts for.
func keyOf(r *http.Request, info *request.Info) string {
	if info.Caller == request.Unauthenticated {
		return "address:" + request.AddressKey(r.RemoteAddr)
	}
	return "user:" + info.User
}

// refuse answers 429.
func refuse(w http.ResponseWriter, r *http.Request, reason, what string) {
	request.From(r.Context()).Outcome = request.Outcome{Source: request.SourceGateway, Reason: reason}
	response.Error(w, r, apierrors.NewTooManyRequests(fmt.Sprintf("too many %s, please try again later", what), response.RetryAfter))
}
