package auth

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// roleBinding returns a RoleBinding in JSON.
func roleBinding(namespace string, subjects ...rbacv1.Subject) []byte {
	raw, err := json.Marshal(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b"}, Subjects: subjects})
	if err != nil {
		panic(err)
	}
	return raw
}

func userSubject(name string) rbacv1.Subject { return rbacv1.Subject{Kind: "User", Name: name} }

func (b *bindings) check(t *testing.T, u *user.DefaultInfo, want ...string) {
	t.Helper()
	if got, more, _ := b.proposed(u); !slices.Equal(got, want) || more {
		t.Errorf("%s is proposed %v, want %v; more: %v", u.Name, got, want, more)
	}
}

func TestRoleBindingsProposeTheirNamespaces(t *testing.T) {
	b := newBindings(NewMetrics(nil))
	jane, group := &user.DefaultInfo{Name: "jane", Groups: []string{"x", "team"}}, rbacv1.Subject{Kind: "Group", Name: "team"}
	if _, _, err := b.proposed(jane); err == nil {
		t.Error("complete before all have been read")
	}
	b.changed("b/1", roleBinding("b", userSubject("jane"), userSubject("jane")))
	b.changed("b/2", roleBinding("b", group))
	b.changed("a/1", roleBinding("a", userSubject("john"), group, rbacv1.Subject{Kind: "ServiceAccount", Name: "sa"}))
	b.changed("c/1", roleBinding("c", rbacv1.Subject{Kind: "ServiceAccount", Name: "sa", Namespace: "a"}))
	b.read()
	if _, _, err := b.proposed(jane); err != nil {
		t.Errorf("%v after all have been read", err)
	}
	b.check(t, jane, "a", "b")
	b.check(t, &user.DefaultInfo{Name: "john"}, "a")
	b.check(t, &user.DefaultInfo{Name: "team"})
	b.check(t, &user.DefaultInfo{Name: "x", Groups: []string{"jane"}})
	b.check(t, &user.DefaultInfo{Name: "system:serviceaccount:a:sa"}, "a", "c")
	b.check(t, &user.DefaultInfo{Name: "system:serviceaccount:c:sa"})

	b.changed("b/2", roleBinding("b", userSubject("john")))
	b.check(t, jane, "a", "b")
	b.changed("b/1", nil)
	b.changed("b/1", nil)
	b.check(t, jane, "a")
	b.check(t, &user.DefaultInfo{Name: "john"}, "a", "b")
	for _, key := range []string{"a/1", "b/2", "c/1"} {
		b.changed(key, nil)
	}
	if b.all+len(b.of)+len(b.namespaces)+len(b.used) != 0 {
		t.Errorf("%v is left", b)
	}
}

func TestNamespaceWithMoreSubjectsThanAreKeptIsProposedForAll(t *testing.T) {
	b := newBindings(NewMetrics(nil))
	var many []rbacv1.Subject
	for i := range maxSubjectsOfNamespace + 1 {
		many = append(many, userSubject(fmt.Sprint(i)))
	}
	b.changed("a/1", roleBinding("a", many...))
	b.changed("a/2", roleBinding("a", userSubject("jane")))
	b.changed("b/1", roleBinding("b", userSubject("jane")))
	b.read()
	if b.all != maxSubjectsOfNamespace+3 {
		t.Errorf("%d are kept", b.all)
	}
	b.check(t, &user.DefaultInfo{Name: "jane"}, "a", "b")
	b.check(t, &user.DefaultInfo{Name: "of nothing that is kept"}, "a")
	b.changed("a/1", nil)
	b.changed("a/2", roleBinding("a", userSubject("jane")))
	b.check(t, &user.DefaultInfo{Name: "jane"}, "a", "b")
	b.check(t, &user.DefaultInfo{Name: "of nothing"})
}

func TestFirstNamespacesAreProposed(t *testing.T) {
	b := newBindings(NewMetrics(nil))
	for i := range 2 * maxProposed {
		ns := fmt.Sprintf("ns-%04d", 2*maxProposed-i)
		b.changed(ns, roleBinding(ns, userSubject("jane")))
	}
	jane := &user.DefaultInfo{Name: "jane"}
	if got, more, _ := b.proposed(jane); len(got) != maxProposed || got[0] != "ns-0001" || got[maxProposed-1] != "ns-1000" || !more {
		t.Errorf("%d are proposed, from %s on; more: %v", len(got), got[0], more)
	}
	for i := maxProposed + 1; i <= 2*maxProposed; i++ {
		b.changed(fmt.Sprintf("ns-%04d", i), nil)
	}
	if got, more, _ := b.proposed(jane); len(got) != maxProposed || more {
		t.Errorf("%d are proposed; more: %v", len(got), more)
	}
}
