package flowcontrol

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/accounts"
	"sluice/proxy/connections"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// Control admits requests.
type Control struct{ ledger *accounts.Ledger }

// New returns a Control that counts requests in a Ledger.
func New(l *accounts.Ledger) *Control { return &Control{l} }

// WithFlowControl is a filter that sets the account of the caller and counts the request for it, or
// answers 429. It counts an authenticated caller by name, and others by address. A caller that
// impersonates counts itself: it holds the credentials, and could name any number of users.
func (c *Control) WithFlowControl(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		info.Account = c.ledger.Account(keyOf(r, info))
		if info.Caller != request.Unauthenticated {
			if err := connections.Assign(r.Context(), info.Account); err != nil {
				w.Header().Set("Connection", "close") // an HTTP/2 server sends GOAWAY
				Refuse(w, r, err)
				return
			}
		}
		leave, err := enter(w, r, info)
		info.Admission = true
		connections.Decided(r.Context())
		if err != nil {
			Refuse(w, r, err)
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// enter takes the memory of a request. A watch can be taken back, and so can a request to change something until its body is
// complete: else a few accounts whose bodies stall would hold all of the memory.
func enter(w http.ResponseWriter, r *http.Request, info *request.Info) (leave func(), err error) {
	bytes, resource := connections.RequestBytes(r), accounts.Requests
	if info.Caller == request.Unauthenticated {
		resource = accounts.Unverified
	}
	switch {
	case arrives(r, info):
		body := &arrivingBody{ReadCloser: r.Body, resource: resource, client: http.NewResponseController(w)}
		if body.grant, err = info.Account.TakeRevocable(resource, bytes, body.expire); err == nil {
			r.Body = body
		}
		return body.leave, err
	case info.Caller == request.Unauthenticated:
		g, err := info.Account.Take(resource, bytes)
		return g.Release, err
	case info.Verb == "watch":
		ctx, cancel := context.WithCancel(r.Context())
		g, err := info.Account.TakeRevocable(resource, bytes, cancel)
		request.SetContext(r, ctx)
		return func() { g.Release(); cancel() }, err
	}
	g, err := info.Account.Take(resource, bytes)
	return g.Release, err
}

// arrives reports whether a request has a body that is read before anything else can be done for it.
func arrives(r *http.Request, info *request.Info) bool {
	return r.Body != nil && r.ContentLength != 0 && r.Method != http.MethodGet && r.Method != http.MethodHead && !Lasts(info)
}

// arrivingBody is a body until whose end the memory of its request can be taken back.
type arrivingBody struct {
	io.ReadCloser
	grant    *accounts.Grant
	resource accounts.Resource
	client   *http.ResponseController

	mu   sync.Mutex // guards left, and the use of client
	left bool       // the handler is about to return, after which client must not be used
}

// expire ends a read that waits for the client.
func (b *arrivingBody) expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.left {
		_ = b.client.SetReadDeadline(time.Unix(1, 0))
	}
}

// leave gives the memory back at the end of the request.
func (b *arrivingBody) leave() {
	b.mu.Lock()
	b.left = true
	b.mu.Unlock()
	b.grant.Release()
}

// Read implements io.Reader. The error is an *accounts.Refused if the memory was taken back, or cannot be kept.
func (b *arrivingBody) Read(p []byte) (int, error) {
	if b.grant.Ended() { // the deadline may have been set anew
		return 0, &accounts.Refused{Resource: b.resource}
	}
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		if kept := b.grant.Keep(); kept != nil {
			return n, kept
		}
	case b.grant.Ended():
		return n, &accounts.Refused{Resource: b.resource}
	}
	return n, err
}

// Lasts reports whether a request goes on for as long as its client likes: a watch, or a session such as
// exec, attach, port-forward, logs, and whatever is proxied to nodes, pods and services.
func Lasts(info *request.Info) bool { return info.Upgrade || info.Proxied() || info.Verb == "watch" }

// Hold counts a request of the admin listener that lasts, for its reader if that is authenticated, else for its address.
// It can be taken back, as a watch can.
func (c *Control) Hold(r *http.Request, end func()) (*accounts.Grant, error) {
	key, resource := accounts.ByAddress(request.AddressKey(r.RemoteAddr)), accounts.Unverified
	if u, ok := apirequest.UserFrom(r.Context()); ok {
		key, resource = accounts.ByUser(u.GetName()), accounts.Requests
	}
	return c.ledger.Account(key).TakeRevocable(resource, connections.RequestBytes(r), end)
}

// keyOf returns for whom a request counts.
func keyOf(r *http.Request, info *request.Info) accounts.Key {
	if info.Caller == request.Unauthenticated {
		return accounts.ByAddress(request.AddressKey(r.RemoteAddr))
	}
	return accounts.ByUser(info.User)
}

// evicted is the reason of a request whose connection made room for others.
const evicted = "connection-evicted"

// Refuse answers a request that was refused with an *accounts.Refused, or one whose connection is closed.
// A stranger's connection ends with it.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	info := request.From(r.Context())
	info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: evicted}
	refused, ok := errors.AsType[*accounts.Refused](err)
	if !ok {
		refused = &accounts.Refused{Resource: accounts.Connections} // nobody receives it
	} else {
		info.Outcome.Reason = refused.Reason()
	}
	connections.EndStranger(w, r)
	response.Error(w, r, refused)
}
