package auth

import (
	"cmp"
	"crypto/sha256"
	"fmt"
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

// rbacObject has the fields of an RBAC object that matter, of each of the resources.
type rbacObject struct {
	Metadata struct{ Namespace, Name, ResourceVersion string }
	Rules    rulesDigest
	Subjects []rbacv1.Subject
	RoleRef  rbacv1.RoleRef
}

// rulesDigest stands for the rules of a role, whose JSON can be long.
type rulesDigest [sha256.Size]byte

// UnmarshalJSON implements json.Unmarshaler.
func (d *rulesDigest) UnmarshalJSON(text []byte) error {
	*d = sha256.Sum256(text)
	return nil
}

// rbacKey names a role or a binding. Those of a cluster have no namespace.
type rbacKey struct{ namespace, name string }

// key returns the key of an object.
func (o *rbacObject) key() rbacKey { return rbacKey{o.Metadata.Namespace, keptName(o.Metadata.Name)} }

// maxName is the length of the longest name that is kept as it is: the longest of most kinds of objects. Those of RBAC objects
// and of subjects can be as long as etcd accepts.
const maxName = 253

// keptName returns a name, or of a long one its hash, which is no name of an RBAC object.
func keptName(name string) string {
	if len(name) <= maxName {
		return name
	}
	return fmt.Sprintf("/%x", sha256.Sum256([]byte(name)))
}

// binding has the subjects of a role.
type binding struct {
	role     rbacKey
	subjects []subject
	bytes    int // that they take
}

// rules has the rules of roles and the subjects bound to them, so that a change concerns nobody else, and one of labels alone, as
// controllers make often, nobody at all.
type rules struct {
	mu       sync.Mutex // guards the fields below
	listed   map[string]bool
	roles    map[rbacKey]rulesDigest // of their rules
	bindings map[rbacKey]binding
	bytes    int // of the subjects of all bindings
}

func newRules() *rules {
	return &rules{listed: map[string]bool{}, roles: map[rbacKey]rulesDigest{}, bindings: map[rbacKey]binding{}}
}

// add takes note of an object that is listed.
func (r *rules) add(resource string, o *rbacObject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if resource == clusterRoles || resource == roles {
		r.roles[o.key()] = o.Rules
	} else {
		r.keep(o.key(), bindingOf(o))
	}
}

// complete takes note that all objects of a resource are listed: from then on, changes of roles concern only their subjects.
func (r *rules) complete(resource string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed[resource] = true
}

// keep keeps a binding, with everybody as its subject if those of all bindings would take too much memory. The caller must hold mu.
func (r *rules) keep(k rbacKey, b binding) {
	r.drop(k)
	if r.bytes+b.bytes > maxBindingsBytes {
		b.subjects, b.bytes = []subject{everybody}, 0
	}
	r.bindings[k] = b
	r.bytes += b.bytes
}

// drop forgets a binding. The caller must hold mu.
func (r *rules) drop(k rbacKey) {
	r.bytes -= r.bindings[k].bytes
	delete(r.bindings, k)
}

// forget forgets the objects of a resource, of which changes are missed until it is listed again.
func (r *rules) forget(resource string) {
	ofCluster := resource == clusterRoles || resource == clusterRoleBindings
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed[resource] = false
	switch resource {
	case clusterRoles, roles:
		maps.DeleteFunc(r.roles, func(k rbacKey, _ rulesDigest) bool { return (k.namespace == "") == ofCluster })
	default:
		for k := range r.bindings {
			if (k.namespace == "") == ofCluster {
				r.drop(k)
			}
		}
	}
}

// change takes note of an object that was added, modified or deleted, and returns the reach of that.
func (r *rules) change(resource string, o *rbacObject, deleted bool) []scope {
	r.mu.Lock()
	defer r.mu.Unlock()
	if resource == clusterRoles || resource == roles {
		return r.setRole(o.key(), o.Rules, deleted)
	}
	return r.setBinding(o.key(), bindingOf(o), deleted)
}

// setRole takes note of a role. Its change affects its subjects, in the namespaces of the bindings. The caller must hold mu.
func (r *rules) setRole(k rbacKey, allowed rulesDigest, deleted bool) (affected []scope) {
	before, existed := r.roles[k]
	if deleted {
		delete(r.roles, k)
	} else if r.roles[k] = allowed; existed && r.roles[k] == before {
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

// setBinding takes note of a binding. Its change affects its subjects before and after. The caller must hold mu.
func (r *rules) setBinding(k rbacKey, b binding, deleted bool) []scope {
	before, existed := r.bindings[k]
	if deleted {
		r.drop(k)
	} else if r.keep(k, b); existed && before.role == b.role && slices.Equal(before.subjects, b.subjects) &&
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

// maxBindingBytes is the memory that the subjects of one binding may take, and maxBindingsBytes that those of all may; more are
// kept as everybody.
const (
	maxBindingBytes  = 64 << 10
	maxBindingsBytes = 16 << 20
)

// subjectBytes is the estimated memory of a subject besides its name.
const subjectBytes = 40

// bindingOf returns the subjects and the role of a binding, by the rules of the RBAC authorizer.
func bindingOf(o *rbacObject) (b binding) {
	b.role = rbacKey{name: keptName(o.RoleRef.Name)}
	if o.RoleRef.Kind == "Role" {
		b.role.namespace = o.Metadata.Namespace
	}
	for _, s := range o.Subjects {
		by := everybody // of a kind that Sluice does not know
		switch s.Kind {
		case rbacv1.UserKind:
			by = userNamed(s.Name)
		case rbacv1.GroupKind:
			by = groupNamed(s.Name)
		case rbacv1.ServiceAccountKind:
			by = userNamed(serviceaccount.MakeUsername(cmp.Or(s.Namespace, o.Metadata.Namespace), s.Name))
		}
		if b.bytes += subjectBytes + len(by.name); b.bytes > maxBindingBytes {
			b.subjects, b.bytes = []subject{everybody}, 0
			return b
		}
		b.subjects = append(b.subjects, by)
	}
	return b
}
