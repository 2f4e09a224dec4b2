package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/wait"
)

// HeaderNames are the headers in which a front proxy names the user of a request to the apiserver:
// the flags --requestheader-*-headers of kube-apiserver. Of several user or UID headers the apiserver
// takes the first that is set; of groups and extras it takes all.
type HeaderNames struct {
	User, UID, Group []string
	// ExtraPrefix are the prefixes of headers with extra fields.
	ExtraPrefix []string
}

// DefaultHeaderNames returns the names that apiservers are usually configured with.
func DefaultHeaderNames() *HeaderNames {
	return &HeaderNames{
		User: []string{"X-Remote-User"}, UID: []string{"X-Remote-Uid"}, Group: []string{"X-Remote-Group"},
		ExtraPrefix: []string{"X-Remote-Extra-"},
	}
}

// UserOf returns the user that headers name to a server that expects these names; nil if they name none.
func (n *HeaderNames) UserOf(h http.Header) *user.DefaultInfo {
	u := &user.DefaultInfo{Name: first(h, n.User), UID: first(h, n.UID), Groups: []string{}, Extra: map[string][]string{}}
	if u.Name == "" {
		return nil
	}
	for _, name := range n.Group {
		for _, group := range h.Values(strings.TrimSpace(name)) {
			if group != "" {
				u.Groups = append(u.Groups, group)
			}
		}
	}
	for _, prefix := range n.ExtraPrefix {
		prefix = strings.TrimSpace(prefix)
		for name, values := range h {
			if prefix == "" || !hasPrefixFold(name, prefix) {
				continue
			}
			key := strings.ToLower(name[len(prefix):])
			if plain, err := url.PathUnescape(key); err == nil {
				key = plain
			}
			u.Extra[key] = append(u.Extra[key], values...)
		}
	}
	return u
}

// first returns the value of the first header that has one.
func first(h http.Header, names []string) string {
	for _, name := range names {
		if value := h.Get(strings.TrimSpace(name)); value != "" {
			return value
		}
	}
	return ""
}

// IsUserHeader reports whether a front proxy can name a user in a header, in any case: at the apiserver,
// at Sluice, or by the usual names.
func (u *Upstream) IsUserHeader(name string) bool {
	return hasPrefixFold(name, "X-Remote-") || u.HeaderNames().contains(name) || u.accepted.contains(name)
}

func (n *HeaderNames) contains(name string) bool {
	if n == nil {
		return false
	}
	for _, names := range [][]string{n.User, n.UID, n.Group} {
		if slices.ContainsFunc(names, func(own string) bool { return strings.EqualFold(own, name) }) {
			return true
		}
	}
	return slices.ContainsFunc(n.ExtraPrefix, func(p string) bool { return p != "" && hasPrefixFold(name, p) })
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// HeaderNames returns the names that the apiserver is configured with: those of Options, or those that
// FollowHeaderNames has read. It is nil until then.
func (u *Upstream) HeaderNames() *HeaderNames { return u.headerNames.Load() }

const (
	headerNamesPath = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
	// headerNamesEvery is the interval at which the names are read, and headerNamesRetry that after a
	// failure. The apiserver reads its flags once, when it starts.
	headerNamesEvery = time.Minute
	headerNamesRetry = 5 * time.Second
)

// FollowHeaderNames reads the names that the apiserver publishes until ctx ends, unless Options has
// them. If Sluice may not read them and is no front proxy, it takes the default names. It always returns nil.
func (u *Upstream) FollowHeaderNames(ctx context.Context, log *zap.Logger) error {
	if u.fixedHeaderNames {
		return nil
	}
	logged := "" // the last error
	for ctx.Err() == nil {
		pause := headerNamesEvery
		err := u.readHeaderNames(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != logged {
			logged = err.Error()
			log.Warn("front-proxy header names cannot be read", zap.Error(err))
		}
		if err != nil && u.HeaderNames() == nil {
			pause = headerNamesRetry
		}
		wait.Pause(ctx, pause)
	}
	return nil
}

// readHeaderNames reads the names once. With an error, known names stay.
func (u *Upstream) readHeaderNames(ctx context.Context) error {
	body, _, err := u.Get(ctx, headerNamesPath, nil, "application/json")
	// With the certificate of a front proxy, a header that Sluice does not know by its name would be believed.
	if !u.FrontProxy && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)) {
		names := DefaultHeaderNames()
		names.UID = nil // many apiservers read no UID: its user would lose it there
		u.headerNames.CompareAndSwap(nil, names)
		if apierrors.IsNotFound(err) { // the apiserver trusts no front proxy
			return nil
		}
	}
	if err != nil {
		return err
	}
	var published corev1.ConfigMap
	if err := json.Unmarshal(body, &published); err != nil {
		return fmt.Errorf("%s: %w", headerNamesPath, err)
	}
	names := &HeaderNames{}
	for key, to := range map[string]*[]string{
		"requestheader-username-headers":     &names.User,
		"requestheader-uid-headers":          &names.UID,
		"requestheader-group-headers":        &names.Group,
		"requestheader-extra-headers-prefix": &names.ExtraPrefix,
	} {
		if text := published.Data[key]; text != "" {
			if err := json.Unmarshal([]byte(text), to); err != nil {
				return fmt.Errorf("%s: %s: %w", headerNamesPath, key, err)
			}
		}
	}
	if len(names.User) == 0 {
		names = DefaultHeaderNames() // the apiserver trusts no front proxy
	}
	u.headerNames.Store(names)
	return nil
}
