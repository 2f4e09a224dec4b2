package auth

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// The resources of RBAC.
const (
	clusterRoleBindings = "clusterrolebindings"
	clusterRoles        = "clusterroles"
	roleBindings        = "rolebindings"
	roles               = "roles"
)

var rbacResources = []string{clusterRoleBindings, clusterRoles, roleBindings, roles}

// rbacObject is what counts of an RBAC object, of whichever resource.
type rbacObject struct {
	Metadata struct{ Namespace, Name, ResourceVersion string }
	Rules    json.RawMessage
	Subjects []rbacv1.Subject
	RoleRef  rbacv1.RoleRef
}

// rbacKey names a role or a binding. Those of a cluster have no namespace.
type rbacKey struct{ namespace, name string }

// key returns the key of an object.
func (o *rbacObject) key() rbacKey { return rbacKey{o.Metadata.Namespace, o.Metadata.Name} }

// binding is who is bound to a role.
type binding struct {
	role     rbacKey
	subjects []subject
}

// rules knows what roles allow, and who is bound to them: so that a change concerns nobody else, and one of labels alone, as
// controllers make often, nobody at all.
type rules struct {
	mu       sync.Mutex // guards what follows
	listed   map[string]bool
	roles    map[rbacKey][sha256.Size]byte // of their rules
	bindings map[rbacKey]binding
}

func newRules() *rules {
	return &rules{listed: map[string]bool{}, roles: map[rbacKey][sha256.Size]byte{}, bindings: map[rbacKey]binding{}}
}

// list takes note of a page of the listed objects of a resource. After the last one, changes of roles concern only who is bound.
func (r *rules) list(resource string, page []rbacObject, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed[resource] = last
	for i := range page {
		o := &page[i]
		if resource == clusterRoles || resource == roles {
			r.roles[o.key()] = sha256.Sum256(o.Rules)
		} else {
			r.bindings[o.key()] = bindingOf(o)
		}
	}
}

// forget forgets the objects of a resource, of which changes are missed until it is listed again.
func (r *rules) forget(resource string) {
	ofCluster := resource == clusterRoles || resource == clusterRoleBindings
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed[resource] = false
	switch resource {
	case clusterRoles, roles:
		maps.DeleteFunc(r.roles, func(k rbacKey, _ [sha256.Size]byte) bool { return (k.namespace == "") == ofCluster })
	default:
		maps.DeleteFunc(r.bindings, func(k rbacKey, _ binding) bool { return (k.namespace == "") == ofCluster })
	}
}

// change takes note of an object that was added, modified or deleted, and returns what that can affect.
func (r *rules) change(resource string, o *rbacObject, deleted bool) []scope {
	r.mu.Lock()
	defer r.mu.Unlock()
	if resource == clusterRoles || resource == roles {
		return r.setRole(o.key(), o.Rules, deleted)
	}
	return r.setBinding(o.key(), bindingOf(o), deleted)
}

// setRole takes note of a role. Its change affects who is bound to it, where they are. The caller must hold mu.
func (r *rules) setRole(k rbacKey, allowed []byte, deleted bool) (affected []scope) {
	before, existed := r.roles[k]
	if deleted {
		delete(r.roles, k)
	} else if r.roles[k] = sha256.Sum256(allowed); existed && r.roles[k] == before {
		return nil
	}
	if !r.listed[roleBindings] || !r.listed[clusterRoleBindings] {
		return []scope{{k.namespace, everybody}}
	}
	for at, b := range r.bindings {
		if b.role == k {
			affected = append(affected, scopes(at.namespace, b.subjects)...)
		}
	}
	return affected
}

// setBinding takes note of a binding. Its change affects who was bound by it, and who is. The caller must hold mu.
func (r *rules) setBinding(k rbacKey, b binding, deleted bool) []scope {
	before, existed := r.bindings[k]
	if deleted {
		delete(r.bindings, k)
	} else if r.bindings[k] = b; existed && before.role == b.role && slices.Equal(before.subjects, b.subjects) &&
		!slices.Contains(b.subjects, everybody) { // who that is may have changed
		return nil
	}
	return scopes(k.namespace, slices.Concat(before.subjects, b.subjects))
}

// scopes returns the scopes of some subjects in a namespace.
func scopes(namespace string, of []subject) (all []scope) {
	for _, s := range of {
		all = append(all, scope{namespace, s})
	}
	return all
}

// maxBindingBytes is the memory that the subjects of one binding may take; more are kept as everybody.
const maxBindingBytes = 64 << 10

// subjectBytes is about what a subject takes besides its name.
const subjectBytes = 40

// bindingOf returns who is bound to which role, by the rules of the RBAC authorizer.
func bindingOf(o *rbacObject) (b binding) {
	b.role = rbacKey{name: o.RoleRef.Name}
	if o.RoleRef.Kind == "Role" {
		b.role.namespace = o.Metadata.Namespace
	}
	bytes := 0
	for _, s := range o.Subjects {
		by := everybody // of a kind that Sluice does not know
		switch s.Kind {
		case rbacv1.UserKind:
			by = subject{name: s.Name}
		case rbacv1.GroupKind:
			by = subject{group: true, name: s.Name}
		case rbacv1.ServiceAccountKind:
			by = subject{name: serviceaccount.MakeUsername(cmp.Or(s.Namespace, o.Metadata.Namespace), s.Name)}
		}
		if bytes += subjectBytes + len(by.name); bytes > maxBindingBytes {
			b.subjects = []subject{everybody}
			return b
		}
		b.subjects = append(b.subjects, by)
	}
	return b
}
