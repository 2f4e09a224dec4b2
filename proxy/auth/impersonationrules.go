package auth

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// constrainedSince is the first release that has constrained impersonation (KEP-5284) by default.
var constrainedSince = utilversion.MajorMinor(1, 36)

// hasConstrainedImpersonation reports whether an apiserver knows the permissions of constrained impersonation, which an
// older one does not know. Of an unknown version it is not assumed: impersonation by such permissions passes.
func hasConstrainedImpersonation(apiserver *version.Info) bool {
	if apiserver == nil {
		return false
	}
	v, err := utilversion.ParseGeneric(apiserver.GitVersion)
	return err == nil && v.AtLeast(constrainedSince)
}

// The modes of constrained impersonation.
const (
	associatedNode = "associated-node" // the node on which the pod of a service account runs
	arbitraryNode  = "arbitrary-node"
	serviceAccount = "serviceaccount"
	userInfo       = "user-info" // any other user
)

// maxModes bounds the callers whose last mode is known. It only words refusals.
const maxModes = 1000

// mode is a way in which a caller may be allowed to impersonate a user.
type mode struct {
	name string    // of constrained impersonation; empty for impersonation in every request, by the verb impersonate
	by   user.Info // the caller, as it is reviewed
}

// modesOf returns the modes in which a caller may impersonate a user. A caller may do so if one of them allows it.
// All of them make the same user, except of nodes, for which constrained modes come first, as at the apiserver. For other
// users the verb impersonate comes first: it needs the fewest reviews.
func modesOf(caller user.Info, wanted *user.DefaultInfo, constrained bool) []mode {
	always := mode{by: caller}
	_, _, err := serviceaccount.SplitUsername(wanted.Name)
	account, onlyName := err == nil, wanted.UID == "" && len(wanted.Groups)+len(wanted.Extra) == 0
	node, isNode := nodeName(wanted.Name)
	switch {
	case !constrained || (isNode || account) && !onlyName:
		return []mode{always}
	case isNode && runsOn(caller, node):
		return []mode{{name: associatedNode, by: withoutExtra(caller)}, {name: arbitraryNode, by: caller}, always}
	case isNode:
		return []mode{{name: arbitraryNode, by: caller}, always}
	case account:
		return []mode{always, {name: serviceAccount, by: caller}}
	}
	return []mode{always, {name: userInfo, by: caller}}
}

// nodeName returns the name of the node whose user a name is.
func nodeName(username string) (string, bool) {
	node, ok := strings.CutPrefix(username, "system:node:")
	return node, ok && len(validation.NameIsDNSSubdomain(node, false)) == 0
}

// runsOn reports whether a caller is a service account whose pod runs on a node.
func runsOn(caller user.Info, node string) bool {
	_, _, err := serviceaccount.SplitUsername(caller.GetName())
	on := caller.GetExtra()[serviceaccount.NodeNameKey]
	return err == nil && len(on) == 1 && on[0] == node
}

// withoutExtra returns a user as the apiserver reviews it for associatedNode: with only the keys of its extra attributes.
func withoutExtra(u user.Info) user.Info {
	const keys = "authentication.kubernetes.io/associated-node-keys"
	return &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(),
		Extra: map[string][]string{keys: slices.Sorted(maps.Keys(u.GetExtra()))}}
}

// user returns the user that the mode makes.
func (m mode) user(wanted *user.DefaultInfo) user.Info {
	u := *wanted
	if m.name == associatedNode || m.name == arbitraryNode {
		u.Groups = []string{user.NodesGroup}
	}
	if namespace, _, err := serviceaccount.SplitUsername(u.Name); err == nil && len(u.Groups) == 0 {
		u.Groups = serviceaccount.MakeGroupNames(namespace)
	}
	group := user.AllAuthenticated
	if u.Name == user.Anonymous || slices.Contains(u.Groups, user.AllUnauthenticated) {
		group = user.AllUnauthenticated
	}
	if !slices.Contains(u.Groups, group) {
		u.Groups = append(slices.Clip(u.Groups), group)
	}
	return &u
}

// many is the number of groups, or of values of extra attributes, from which on a constrained mode asks for all at once.
const many = 4

// names are names of one kind that a mode must allow.
type names struct {
	authorizer.AttributesRecord
	all         []string
	severalKeys bool   // the impersonation has other extra attributes besides
	wildcard    bool   // all are allowed to a caller who may impersonate the name "*", and the extra attribute "*"
	never       string // why no caller is allowed them
}

// names returns the names that a caller must be allowed, in the order of the apiserver.
func (m mode) names(wanted *user.DefaultInfo) (needed []*names) {
	verb, group := "impersonate", ""
	if m.name != "" {
		verb, group = verb+":"+m.name, authenticationv1.GroupName
	}
	of := func(group, resource string, all ...string) *names {
		n := &names{all: all, AttributesRecord: authorizer.AttributesRecord{
			User: m.by, Verb: verb, APIGroup: group, APIVersion: "v1", Resource: resource, ResourceRequest: true,
		}}
		needed = append(needed, n)
		return n
	}
	node, isNode := nodeName(wanted.Name)
	switch namespace, account, err := serviceaccount.SplitUsername(wanted.Name); {
	case err == nil:
		of(group, "serviceaccounts", account).Namespace = namespace
	case isNode && m.name == associatedNode:
		of(group, "nodes", "*")
	case isNode && m.name != "":
		of(group, "nodes", node)
	default:
		of(group, "users", wanted.Name)
	}
	if wanted.UID != "" {
		of(authenticationv1.GroupName, "uids", wanted.UID)
	}
	if len(wanted.Groups) > 0 {
		g := of(group, "groups", wanted.Groups...)
		g.wildcard = m.name != "" && len(wanted.Groups) >= many
		switch {
		case m.name == "":
		case slices.Contains(wanted.Groups, ""):
			g.never = "impersonating the empty string group is not allowed"
		case slices.Contains(wanted.Groups, user.SystemPrivilegedGroup):
			g.never, g.Name = "impersonating the system:masters group is not allowed", user.SystemPrivilegedGroup
		}
	}
	if never := invalidExtra(wanted.Extra); m.name != "" && never != "" {
		of(authenticationv1.GroupName, "userextras").never = never
		return needed
	}
	values := len(slices.Concat(slices.Collect(maps.Values(wanted.Extra))...))
	for _, key := range slices.Sorted(maps.Keys(wanted.Extra)) {
		e := of(authenticationv1.GroupName, "userextras", wanted.Extra[key]...)
		e.Subresource, e.severalKeys, e.wildcard = key, len(wanted.Extra) > 1, m.name != "" && values >= many
	}
	return needed
}

// invalidExtra says why no caller may impersonate extra attributes in a constrained mode; empty if one may.
func invalidExtra(extra map[string][]string) string {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		err := utilvalidation.IsDomainPrefixedPath(field.NewPath("extra", "key"), key).ToAggregate()
		switch {
		case key == "":
			return "impersonating the empty string key in extra is not allowed"
		case err != nil:
			return "impersonating an invalid key in extra is not allowed: " + err.Error()
		case key != strings.ToLower(key):
			return fmt.Sprintf("impersonating a non-lowercase key in extra is not allowed: %q", key)
		case slices.Contains(extra[key], ""):
			return "impersonating the empty string value in extra is not allowed"
		}
	}
	return ""
}
