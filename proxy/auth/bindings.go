package auth

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"sync"

	"go.uber.org/zap"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/cache/tree"
)

const (
	// maxSubjects bounds the kept subjects of all RoleBindings, each about 100 bytes of memory. maxSubjectsOfNamespace bounds the
	// subjects of one namespace, so that its owner does not use up maxSubjects.
	maxSubjects            = 200_000
	maxSubjectsOfNamespace = maxSubjects / 20
	// maxProposed is the most namespaces that are proposed for a user.
	maxProposed = 1000
)

// bindings propose the namespaces in which a user may have rights: those with a RoleBinding that names the user or one of its
// groups. They decide nothing.
type bindings struct {
	metrics *Metrics

	mu         sync.Mutex
	complete   bool                 // all RoleBindings have been read once
	of         map[string]*binding  // by the key of the RoleBinding
	namespaces map[subject][]string // in ascending order, once for each binding
	used       map[string]int       // subjects by namespace
	all        int                  // subjects
}

// binding is a RoleBinding.
type binding struct {
	namespace string
	subjects  []subject
}

// subject is the hash of a subject. Equal hashes of others propose namespaces for which a review is denied.
type subject uint64

var subjectSeed = maphash.MakeSeed()

func subjectOf(kind, name string) subject { return subject(maphash.String(subjectSeed, kind+"/"+name)) }

// anyone replaces the subjects of a RoleBinding that are not kept. The namespaces of anyone are proposed for all users.
var anyone = subjectOf("", "")

func newBindings(m *Metrics) *bindings {
	return &bindings{metrics: m, of: map[string]*binding{}, namespaces: map[subject][]string{}, used: map[string]int{}}
}

// changed takes note of a RoleBinding, in JSON, which is nil if it has been deleted.
func (b *bindings) changed(key string, object []byte) {
	var now rbacv1.RoleBinding
	if json.Unmarshal(object, &now) != nil {
		now.Subjects = nil
	}
	var subjects []subject
	for _, s := range now.Subjects {
		if one, ok := boundSubject(&s, now.Namespace); ok && now.Namespace != "" {
			subjects = append(subjects, one)
		}
	}
	slices.Sort(subjects)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(key)
	b.add(key, now.Namespace, slices.Compact(subjects))
}

// add adds a RoleBinding. The caller must hold mu.
func (b *bindings) add(key, namespace string, subjects []subject) {
	added := &binding{namespace: tree.Intern(namespace)}
	for _, one := range subjects {
		if b.all >= maxSubjects || b.used[added.namespace] >= maxSubjectsOfNamespace {
			b.metrics.log.Warn("RoleBindings have more subjects than are kept: all users are reviewed in this namespace",
				zap.String("namespace", added.namespace))
			one = anyone
		}
		list := b.namespaces[one]
		i, _ := slices.BinarySearch(list, added.namespace)
		b.namespaces[one] = slices.Insert(list, i, added.namespace)
		b.all++
		b.used[added.namespace]++
		if added.subjects = append(added.subjects, one); one == anyone {
			break
		}
	}
	if len(added.subjects) > 0 {
		b.of[key] = added
	}
}

// remove removes a RoleBinding. The caller must hold mu.
func (b *bindings) remove(key string) {
	gone := b.of[key]
	if gone == nil {
		return
	}
	delete(b.of, key)
	for _, one := range gone.subjects {
		list := b.namespaces[one]
		i, _ := slices.BinarySearch(list, gone.namespace)
		if b.namespaces[one] = slices.Delete(list, i, i+1); len(list) == 1 {
			delete(b.namespaces, one)
		}
	}
	b.all -= len(gone.subjects)
	if b.used[gone.namespace] -= len(gone.subjects); b.used[gone.namespace] == 0 {
		delete(b.used, gone.namespace)
	}
}

// boundSubject returns the subject of a RoleBinding in a namespace, by the rules of the apiserver.
func boundSubject(s *rbacv1.Subject, namespace string) (subject, bool) {
	switch s.Kind {
	case rbacv1.UserKind, rbacv1.GroupKind:
		return subjectOf(s.Kind, s.Name), true
	case rbacv1.ServiceAccountKind:
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		return subjectOf(rbacv1.UserKind, serviceaccount.MakeUsername(namespace, s.Name)), true
	}
	return 0, false
}

// read takes note that all RoleBindings have been read.
func (b *bindings) read() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complete = true
}

// proposed returns the first namespaces that are proposed for a user, in ascending order, and whether there are more. The error is
// errBindingsUnknown.
func (b *bindings) proposed(u user.Info) (namespaces []string, more bool, err error) {
	b.mu.Lock()
	if !b.complete {
		err = errBindingsUnknown
	}
	namespaces = b.first(b.first(nil, anyone), subjectOf(rbacv1.UserKind, u.GetName()))
	for _, group := range u.GetGroups() {
		namespaces = b.first(namespaces, subjectOf(rbacv1.GroupKind, group))
	}
	b.mu.Unlock()
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	if len(namespaces) > maxProposed {
		return namespaces[:maxProposed], true, err
	}
	return namespaces, false, err
}

// first appends the first namespaces of a subject, and one more than are proposed. The caller must hold mu.
func (b *bindings) first(to []string, of subject) []string {
	n, last := 0, ""
	for _, ns := range b.namespaces[of] {
		if ns == last {
			continue
		}
		if n > maxProposed {
			break
		}
		to, last = append(to, ns), ns
		n++
	}
	return to
}
