package forward

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apiserver/pkg/authentication/user"
)

// Prefixes of the headers in which a request names its user: those of a front proxy, in the
// spelling that apiservers are usually configured with, and those of impersonation.
const (
	frontProxyPrefix    = "X-Remote-"
	impersonationPrefix = "Impersonate-"
)

// removePrefixed removes all headers whose names begin with the prefix, in any case.
func removePrefixed(h http.Header, prefix string) {
	for name := range h {
		if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			delete(h, name)
		}
	}
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
	removePrefixed(h, impersonationPrefix)
	prefix := impersonationPrefix
	if f.upstream.FrontProxy {
		prefix = frontProxyPrefix
	}
	h.Set(prefix+"User", u.GetName())
	if uid := u.GetUID(); uid != "" {
		h.Set(prefix+"Uid", uid)
	}
	for _, group := range u.GetGroups() {
		if group != user.AllAuthenticated { // the apiserver adds it
			h.Add(prefix+"Group", group)
		}
	}
	for key, values := range u.GetExtra() {
		for _, v := range values {
			h.Add(prefix+"Extra-"+escapeExtraKey(key), v)
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
