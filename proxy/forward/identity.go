package forward

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/message"
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

// identity returns the headers that name the user to the apiserver. It returns an error if the apiserver
// would take them for another user: one without the UID, or a member of other groups.
func (f *Forwarder) identity(u user.Info) (http.Header, error) {
	names := f.identityNames()
	switch {
	case names == nil:
		return nil, errNamesUnknown
	case u == nil || u.GetName() == "":
		return nil, unnamed("it has no name")
	case !fitsHeaders(u):
		return nil, unnamed("headers lose control characters, and white space at the ends of a name, UID, group or extra")
	}
	h := identityHeaders(names, u)
	switch {
	case f.upstream.FrontProxy && !readsAs(names, h, u):
		return nil, unnamed("the apiserver would read other groups, extras or another UID: see its flags --requestheader-*")
	case !f.upstream.FrontProxy && !impersonatedAs(u):
		return nil, unnamed("the apiserver would add groups or omit extras when the gateway impersonates it")
	}
	return h, nil
}

// unnamed refuses a caller that headers cannot name.
func unnamed(why string) error {
	err := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	err.ErrStatus.Message = message.Unnamed.Say(why)
	return err
}

// fitsHeaders reports whether header values can carry the user unchanged. HTTP trims white space
// around values: a user named " " would arrive without a name, so that the request would be one of
// Sluice itself, and a member of "system:masters " would become a member of system:masters.
func fitsHeaders(u user.Info) bool {
	values := append([]string{u.GetName(), u.GetUID()}, u.GetGroups()...)
	for _, extra := range u.GetExtra() {
		values = append(values, extra...)
	}
	return !slices.ContainsFunc(values, func(v string) bool {
		return strings.Trim(v, " \t") != v || !httpguts.ValidHeaderFieldValue(v)
	})
}

// readsAs reports whether an apiserver that expects these names reads the headers of a front proxy as
// exactly this user. It lacks the attributes for which it has no name, and ignores empty groups.
func readsAs(names *upstream.HeaderNames, h http.Header, want user.Info) bool {
	headers := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		read := names.UserOf(h)
		return &authenticator.Response{User: read}, read != nil, nil
	})
	got, ok, err := group.NewAuthenticatedGroupAdder(headers).AuthenticateRequest(nil)
	return ok && err == nil && got.User.GetName() == want.GetName() && got.User.GetUID() == want.GetUID() &&
		slices.Equal(got.User.GetGroups(), want.GetGroups()) && maps.EqualFunc(got.User.GetExtra(), want.GetExtra(), slices.Equal)
}

// impersonatedAs reports whether an apiserver impersonates exactly this user. It adds
// system:unauthenticated to the groups of system:anonymous, and system:authenticated to those of others
// that are not in system:unauthenticated. If it receives no group, it also adds those of a service account.
func impersonatedAs(u user.Info) bool {
	in := func(group string) bool { return slices.Contains(u.GetGroups(), group) }
	for _, values := range u.GetExtra() {
		if len(values) == 0 {
			return false
		}
	}
	return in(user.AllUnauthenticated) || u.GetName() != user.Anonymous && in(user.AllAuthenticated)
}

// identityHeaders returns headers with the user's attributes. All groups are sent, also those that the
// apiserver would add: to a service account without groups it would add more.
func identityHeaders(names *upstream.HeaderNames, u user.Info) http.Header {
	h := http.Header{}
	h.Set(names.User[0], u.GetName())
	if uid := u.GetUID(); uid != "" && len(names.UID) > 0 {
		h.Set(names.UID[0], uid)
	}
	if len(names.Group) > 0 {
		for _, group := range u.GetGroups() {
			h.Add(names.Group[0], group)
		}
	}
	if len(names.ExtraPrefix) > 0 {
		for key, values := range u.GetExtra() {
			for _, v := range values {
				h.Add(names.ExtraPrefix[0]+escapeExtraKey(key), v)
			}
		}
	}
	return h
}

// setIdentity replaces credentials and impersonation headers of the client by the headers that name its
// user. If the client asked for impersonation, that is the impersonated user: the authorizer has allowed
// it before.
func setIdentity(h, identity http.Header) {
	h.Del("Authorization")
	removeImpersonation(h)
	maps.Copy(h, identity)
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
