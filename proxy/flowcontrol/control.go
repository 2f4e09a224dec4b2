package flowcontrol

import (
	"context"
	"net/http"

	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// Admit returns a filter that sets the account of the caller and takes the memory of the request, or answers 429. It counts
// an authenticated caller by name, and others by address. A caller that impersonates counts itself: it holds the
// credentials, and could name any number of users. A watch ends in favor of others.
func Admit(m *limits.Memory) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			info := request.From(r.Context())
			info.Account = accountOf(m, r, info)
			if info.Caller != request.Unauthenticated {
				if err := limits.Authenticated(r.Context(), info.Account.Caller); err != nil {
					w.Header().Set("Connection", "close") // an HTTP/2 server sends GOAWAY
					Refuse(w, r, err)
					return
				}
			}
			leave, err := enter(r, info)
			if err != nil {
				Refuse(w, r, err)
				return
			}
			defer leave()
			next.ServeHTTP(w, r)
		})
	}
}

// enter takes the memory of a request.
func enter(r *http.Request, info *request.Info) (leave func(), err error) {
	bytes := limits.RequestBytes(r)
	if info.Verb != "watch" {
		h, err := info.Account.Take(bytes)
		return h.Release, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	h, err := info.Account.TakeUntil(bytes, cancel)
	request.SetContext(r, ctx)
	return func() {
		if h.Revoked() {
			info.Outcome.Reason, info.Outcome.End = limits.TooMuch, request.Failed
		}
		h.Release()
		cancel()
	}, err
}

// Lasts reports whether a request goes on for as long as its client likes: a watch, or a session such as
// exec, attach, port-forward, logs, and whatever is proxied to nodes, pods and services.
func Lasts(info *request.Info) bool { return info.Upgrade || info.Proxied() || info.Verb == "watch" }

// accountOf returns the caller for which a request counts.
func accountOf(m *limits.Memory, r *http.Request, info *request.Info) limits.Account {
	if info.Caller == request.Unauthenticated || info.Acting == nil {
		return limits.Account{Ledger: m.Unauthenticated, Caller: limits.ByAddress(r.RemoteAddr)}
	}
	return limits.Account{Ledger: m.Users, Caller: limits.ByUser(info.Acting)}
}

// TooManyUnauthenticated is the reason why unauthenticated requests are refused. Alerts do not count it: anybody can cause it.
const TooManyUnauthenticated = "too-many-unauthenticated"

// Refuse answers a request that was refused with a *limits.Refused. An unauthenticated connection ends with it.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	info := request.From(r.Context())
	info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: limits.TooMuch}
	if info.Caller == request.Unauthenticated {
		info.Outcome.Reason = TooManyUnauthenticated
	}
	limits.EndUnauthenticated(w, r)
	response.Error(w, r, err)
}
