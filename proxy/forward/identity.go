package forward

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apiserver/pkg/authentication/user"
)

// stripRemote removes the headers by which a front proxy names its caller, in
// the spelling that apiservers are usually set up with. No caller may set them.
func stripRemote(h http.Header) { stripPrefix(h, "X-Remote-") }

func stripPrefix(h http.Header, prefix string) {
	for name := range h {
		if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			delete(h, name)
		}
	}
}

// fits reports whether headers can tell who it is. They lose the white space
// around their values: somebody called " " would arrive as nobody, which is
// Sluice itself, and a member of "system:masters " as one of system:masters.
func fits(who user.Info) bool {
	if who == nil || who.GetName() == "" {
		return false
	}
	values := append([]string{who.GetName(), who.GetUID()}, who.GetGroups()...)
	for key, extra := range who.GetExtra() {
		if key == "" {
			return false
		}
		values = append(values, extra...)
	}
	return !slices.ContainsFunc(values, func(v string) bool {
		return strings.Trim(v, " \t") != v || strings.ContainsFunc(v, unicode.IsControl)
	})
}

// assert names who in the headers, in place of whatever the caller sent. What
// the caller wished to impersonate has been authorized and is who by now.
func (f *Forwarder) assert(h http.Header, who user.Info) {
	h.Del("Authorization")
	stripPrefix(h, "Impersonate-")
	if f.upstream.FrontProxy {
		setIdentity(h, who, identityHeaders{"X-Remote-User", "X-Remote-Uid", "X-Remote-Group", "X-Remote-Extra-"})
		return
	}
	setIdentity(h, who, identityHeaders{"Impersonate-User", "Impersonate-Uid", "Impersonate-Group", "Impersonate-Extra-"})
}

type identityHeaders struct{ user, uid, group, extraPrefix string }

// setIdentity leaves out the group of all authenticated users, which the
// apiserver adds by itself.
func setIdentity(h http.Header, who user.Info, names identityHeaders) {
	h.Set(names.user, who.GetName())
	if uid := who.GetUID(); uid != "" {
		h.Set(names.uid, uid)
	}
	for _, group := range who.GetGroups() {
		if group != user.AllAuthenticated {
			h.Add(names.group, group)
		}
	}
	for key, values := range who.GetExtra() {
		for _, v := range values {
			h.Add(names.extraPrefix+escapeExtraKey(key), v)
		}
	}
}

// escapeExtraKey percent-encodes what may not stand in a header name, or would
// lose its case there; the apiserver decodes it.
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
