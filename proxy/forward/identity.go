package forward

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/request"
	"sluice/proxy/upstream"
)

// impersonationPrefix is the prefix of the headers in which a request names the user to act for.
const impersonationPrefix = "Impersonate-"

// isNamed reports whether the caller is named in headers: only Sluice has seen its credentials.
func isNamed(info *request.Info) bool { return info.Caller == request.ClientCert }

// identityNames returns the names of the headers in which OnBehalf requests name their user.
func (f *Forwarder) identityNames() *upstream.HeaderNames {
	if f.upstream.FrontProxy {
		return f.upstream.HeaderNames()
	}
	return &impersonation
}

var impersonation = upstream.HeaderNames{
	User: []string{impersonationPrefix + "User"}, UID: []string{impersonationPrefix + "Uid"},
	Group: []string{impersonationPrefix + "Group"}, ExtraPrefix: []string{impersonationPrefix + "Extra-"},
}

// removeFrontProxy removes the headers with which a front proxy names users, in any case: those that
// the apiserver is configured with, and the usual ones (k/k#119631).
func (f *Forwarder) removeFrontProxy(h http.Header) {
	maps.DeleteFunc(h, func(name string, _ []string) bool { return f.upstream.IsUserHeader(name) })
}

// removeImpersonation removes impersonation headers, in any case.
func removeImpersonation(h http.Header) {
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		return len(name) >= len(impersonationPrefix) && strings.EqualFold(name[:len(impersonationPrefix)], impersonationPrefix)
	})
}

// namesUser reports whether the headers name the user of an OnBehalf request.
func (f *Forwarder) namesUser(h http.Header) bool {
	names := f.identityNames()
	return names != nil && h.Get(names.User[0]) != "" && h.Get("Authorization") == ""
}

// fitsHeaders reports whether header values can carry the user unchanged. HTTP trims white space
// around values: a user named " " would arrive without a name, so that the request would be one of
// Sluice itself, and a member of "system:masters " would become a member of system:masters.
func fitsHeaders(u user.Info) bool {
	if u == nil || u.GetName() == "" {
		return false
	}
	values := append([]string{u.GetName(), u.GetUID()}, u.GetGroups()...)
	for key, extra := range u.GetExtra() {
		if key == "" {
			return false
		}
		values = append(values, extra...)
	}
	return !slices.ContainsFunc(values, func(v string) bool {
		return strings.Trim(v, " \t") != v || strings.ContainsFunc(v, unicode.IsControl)
	})
}

// setIdentity names the user in the headers and removes credentials and impersonation headers of
// the client. If the client asked for impersonation, u is the impersonated user: the authorizer has
// allowed that before.
func (f *Forwarder) setIdentity(h http.Header, u user.Info) {
	h.Del("Authorization")
	removeImpersonation(h)
	names := f.identityNames()
	if names == nil {
		return // send refuses the request
	}
	h.Set(names.User[0], u.GetName())
	if uid := u.GetUID(); uid != "" && len(names.UID) > 0 {
		h.Set(names.UID[0], uid)
	}
	if len(names.Group) > 0 {
		for _, group := range u.GetGroups() {
			if group != user.AllAuthenticated { // the apiserver adds it
				h.Add(names.Group[0], group)
			}
		}
	}
	if len(names.ExtraPrefix) > 0 {
		for key, values := range u.GetExtra() {
			for _, v := range values {
				h.Add(names.ExtraPrefix[0]+escapeExtraKey(key), v)
			}
		}
	}
}

// escapeExtraKey percent-encodes the bytes that a header name must not contain, and upper case,
// which header names do not preserve. The apiserver decodes the key.
func escapeExtraKey(key string) string {
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789-._~"
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
