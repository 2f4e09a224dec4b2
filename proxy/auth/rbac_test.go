package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// rbacAPI is an Opener whose watches deliver what the test sends. Its lists have two bindings of jane, to the role x of each kind.
type rbacAPI struct {
	mu      sync.Mutex
	watches map[string]*io.PipeWriter // by resource
	lists   map[string]int
	fails   bool
	sent    int
}

// bindingOfJane is a binding of jane, and of further subjects, to a role x.
const bindingOfJane = `{"metadata":{"name":"x","namespace":%q,"resourceVersion":"9"},` +
	`"roleRef":{"kind":%q,"name":"x"},"subjects":[{"kind":"User","name":"jane"}%s]}`

// Open implements Opener.
func (a *rbacAPI) Open(ctx context.Context, path string, query url.Values, _ string) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	resource := strings.TrimPrefix(path, rbacPath)
	if a.fails {
		return nil, errors.New("fails")
	}
	if query.Get("watch") == "" {
		a.lists[resource]++
		items := ""
		switch resource {
		case clusterRoleBindings:
			items = fmt.Sprintf(bindingOfJane, "", "ClusterRole", "")
		case roleBindings:
			items = fmt.Sprintf(bindingOfJane, "x", "Role", "")
		}
		return &http.Response{Body: io.NopCloser(strings.NewReader(`{"metadata":{"resourceVersion":"7"},"items":[` + items + `]}`))}, nil
	}
	if query.Get("resourceVersion") == "" {
		return nil, errors.New("no version")
	}
	r, w := io.Pipe()
	a.watches[resource] = w
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	return &http.Response{Body: r}, nil
}

// watch returns the open watch of a resource.
func (a *rbacAPI) watch(resource string) *io.PipeWriter {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watches[resource]
}

// listed returns how often a resource has been listed.
func (a *rbacAPI) listed(resource string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lists[resource]
}

// send delivers an event of a role x, or of a binding of jane, on a watch. Each changes something.
func (a *rbacAPI) send(t *testing.T, resource, typ, namespace string) {
	t.Helper()
	a.sent++
	object := fmt.Sprintf(`{"metadata":{"name":"x","namespace":%q,"resourceVersion":"9"},"rules":[%d]}`, namespace, a.sent)
	switch resource {
	case clusterRoleBindings, roleBindings:
		object = fmt.Sprintf(bindingOfJane, namespace, "Role", fmt.Sprintf(`,{"kind":"Group","name":"%d"}`, a.sent))
	}
	a.event(t, resource, typ, object)
}

// event delivers an event on a watch.
func (a *rbacAPI) event(t *testing.T, resource, typ, object string) {
	t.Helper()
	if _, err := fmt.Fprintf(a.watch(resource), `{"type":%q,"object":%s}`, typ, object); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// runRBAC runs a test of an Access that watches RBAC objects.
func runRBAC(t *testing.T, test func(*testing.T, *reviewAPI, *Access, *rbacAPI)) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		rbac := &rbacAPI{watches: map[string]*io.PipeWriter{}, lists: map[string]int{}}
		access.Authorizer.options.RBAC = rbac
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- access.Authorizer.Run(ctx) }()
		defer func() { cancel(); <-done }()
		time.Sleep(2*settleTime + recentChange) // the lists count as changes
		reviews.tokens["a"] = verified("jane")
		reviews.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
		test(t, reviews, access, rbac)
	})
}

func TestChangeOfRBACObjectsInvalidatesReviews(t *testing.T) {
	for _, row := range []struct {
		resource, typ, namespace, path string
		invalidates                    bool
	}{
		{"clusterroles", "MODIFIED", "", "/api/v1/namespaces/x/pods", true},
		{"clusterroles", "MODIFIED", "", "/api/v1/pods", true},
		{"clusterrolebindings", "DELETED", "", "/api/v1/namespaces/x/pods", true},
		{"roles", "MODIFIED", "x", "/api/v1/namespaces/x/pods", true},
		{"rolebindings", "DELETED", "x", "/api/v1/namespaces/x/pods", true},
		{"rolebindings", "ADDED", "x", "/api/v1/namespaces/x", true}, // rights in x can include the Namespace
		{"rolebindings", "DELETED", "y", "/api/v1/namespaces/x/pods", false},
		{"rolebindings", "DELETED", "x", "/api/v1/pods", false},
		{"rolebindings", "BOOKMARK", "x", "/api/v1/namespaces/x/pods", false},
	} {
		t.Run(row.resource+" "+row.typ+" "+row.namespace+row.path, func(t *testing.T) {
			runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rbacAPI) {
				r := authenticated(t, access, newRequest(row.path+"?resourceVersion=0", token("a")))
				read, notified := readOf(t, r), 0
				defer access.Notify(r, read, func() { notified++ })()
				access.Allowed(r, read)
				reviews.mu.Lock()
				reviews.allow = nil
				reviews.mu.Unlock()
				rbac.send(t, row.resource, row.typ, row.namespace)
				if got := access.Allowed(r, read); got == row.invalidates {
					t.Errorf("allowed at once: %v", got)
				}
				time.Sleep(settleTime + time.Millisecond)
				synctest.Wait()
				if (notified == 1) != row.invalidates {
					t.Errorf("notified %d times", notified)
				}
			})
		})
	}
}

// What controllers touch every day concerns few callers, or none.
func TestChangesThatConcernOthersInvalidateNothing(t *testing.T) {
	const meta = `"metadata":{"name":%q,"namespace":%q,"resourceVersion":"9"}`
	object := func(name, namespace, rest string) string {
		return `{` + fmt.Sprintf(meta, name, namespace) + rest + `}`
	}
	const joe = `,"roleRef":{"kind":"ClusterRole","name":"z"},"subjects":[{"kind":"User","name":"joe"}]`
	group := func(name string) string {
		return `,"roleRef":{"kind":"ClusterRole","name":"z"},"subjects":[{"kind":"Group","name":"` + name + `"}]`
	}
	long := strings.Repeat("g", maxBindingBytes)
	for _, row := range []struct {
		name, resource, typ, object string
		invalidates                 bool
	}{
		{"a binding of somebody else", clusterRoleBindings, "ADDED", object("joe", "", joe), false},
		{"a binding of her group", clusterRoleBindings, "ADDED", object("devs", "", group("developers")), true},
		{"a binding of another group", clusterRoleBindings, "ADDED", object("ops", "", group("operators")), false},
		{"labels of her binding", roleBindings, "MODIFIED", fmt.Sprintf(bindingOfJane, "x", "Role", ""), false},
		{"another role in her binding", roleBindings, "MODIFIED", fmt.Sprintf(bindingOfJane, "x", "ClusterRole", ""), true},
		{"the end of her binding", roleBindings, "DELETED", fmt.Sprintf(bindingOfJane, "x", "Role", ""), true},
		{"her binding to somebody else", roleBindings, "MODIFIED", object("x", "x", joe), true},
		{"a role to which she is not bound", clusterRoles, "ADDED", object("z", "", `,"rules":[]`), false},
		{"the end of her role", roles, "DELETED", object("x", "x", ""), true},
		{"a role of another namespace", roles, "ADDED", object("x", "y", `,"rules":[]`), false},
		{"a ClusterRole of the name of her Role", clusterRoles, "ADDED", object("x", "", `,"rules":[]`), true}, // jane is bound to both
		{"so many others that they are not kept", roleBindings, "ADDED",
			object("crowd", "x", `,"roleRef":{"kind":"Role","name":"z"},"subjects":[`+
				strings.Repeat(`{"kind":"User","name":"joe"},`, maxBindingBytes/subjectBytes)+`{"kind":"User","name":"joe"}]`), true},
		{"a binding of her group of a long name", clusterRoleBindings, "ADDED", object("long", "", group(long)), true},
		{"a binding of another group of a long name", clusterRoleBindings, "ADDED", object("long", "", group(long+"g")), false},
		{"a subject of another kind", roleBindings, "ADDED",
			object("odd", "x", `,"roleRef":{"kind":"Role","name":"z"},"subjects":[{"kind":"Odd","name":"joe"}]`), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rbacAPI) {
				reviews.tokens["a"].User.Groups = []string{"developers", long}
				r := authenticated(t, access, newRequest("/api/v1/namespaces/x/pods?resourceVersion=0", token("a")))
				read, notified := readOf(t, r), 0
				defer access.Notify(r, read, func() { notified++ })()
				access.Allowed(r, read)
				_, before := reviews.counts()
				rbac.event(t, row.resource, row.typ, row.object)
				time.Sleep(settleTime + time.Millisecond)
				synctest.Wait()
				access.Allowed(r, read)
				if _, after := reviews.counts(); (after > before) != row.invalidates || (notified == 1) != row.invalidates {
					t.Errorf("%d more reviews, notified %d times", after-before, notified)
				}
			})
		})
	}
}

// A role that has changed once may be touched without a change later.
func TestSecondEventOfARoleWithoutAChangeInvalidatesNothing(t *testing.T) {
	runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rbacAPI) {
		const role = `{"metadata":{"name":"x","labels":{"a":"%d"},"resourceVersion":"9"},"rules":[{"verbs":["get"]}]}`
		for i := range 3 {
			allowed(t, access, "/api/v1/pods")
			_, before := reviews.counts()
			rbac.event(t, clusterRoles, "MODIFIED", fmt.Sprintf(role, i))
			time.Sleep(settleTime + time.Millisecond)
			synctest.Wait()
			allowed(t, access, "/api/v1/pods")
			if _, after := reviews.counts(); (after > before) != (i == 0) {
				t.Errorf("event %d: %d more reviews", i, after-before)
			}
		}
	})
}

// The authorizer of the apiserver has a watch of its own, which may be behind.
func TestReviewSoonAfterAChangeIsRepeated(t *testing.T) {
	runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rbacAPI) {
		rbac.send(t, "clusterroles", "MODIFIED", "")
		if !allowed(t, access, "/api/v1/pods") { // still by the old rules
			t.Fatal("not allowed")
		}
		reviews.mu.Lock()
		reviews.allow = nil
		reviews.mu.Unlock()
		time.Sleep(settleTime + time.Millisecond)
		if allowed(t, access, "/api/v1/pods") {
			t.Error("allowed by a review before the change had its effect")
		}
	})
}

func TestConstantChangeInvalidatesTwiceASecondAtMost(t *testing.T) {
	runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rbacAPI) {
		_, before := reviews.counts()
		for range 1000 {
			rbac.send(t, "rolebindings", "MODIFIED", "x")
			allowed(t, access, "/api/v1/namespaces/x/pods")
			time.Sleep(10 * time.Millisecond)
		}
		if _, after := reviews.counts(); after-before > 25 {
			t.Errorf("%d reviews in 10 seconds", after-before)
		}
	})
}

// The effect of a change just before an earlier one settles is not certain then.
func TestReviewSoonAfterASecondChangeIsRepeated(t *testing.T) {
	runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rbacAPI) {
		rbac.send(t, "rolebindings", "MODIFIED", "x")
		time.Sleep(settleTime - 10*time.Millisecond)
		rbac.send(t, "rolebindings", "MODIFIED", "x")
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if !allowed(t, access, "/api/v1/namespaces/x/pods") { // still by the old rules
			t.Fatal("not allowed")
		}
		reviews.mu.Lock()
		reviews.allow = nil
		reviews.mu.Unlock()
		time.Sleep(settleTime)
		synctest.Wait()
		if allowed(t, access, "/api/v1/namespaces/x/pods") {
			t.Error("allowed by a review before the second change had its effect")
		}
	})
}

// The right to impersonate a service account belongs to its namespace, not to the namespace of the read.
func TestListenerOfAnImpersonatedReadHearsOfAllNamespaces(t *testing.T) {
	runRBAC(t, func(t *testing.T, _ *reviewAPI, access *Access, rbac *rbacAPI) {
		notified := map[bool]int{}
		for impersonates, header := range map[bool]http.Header{false: {}, true: {"Impersonate-User": {"jane"}}} {
			header.Set("Authorization", "Bearer a")
			r := authenticated(t, access, newRequest("/api/v1/namespaces/x/pods?watch=1", header))
			defer access.Notify(r, readOf(t, r), func() { notified[impersonates]++ })()
		}
		rbac.send(t, "rolebindings", "DELETED", "y")
		time.Sleep(settleTime + time.Millisecond)
		synctest.Wait()
		if notified[true] != 1 || notified[false] != 0 {
			t.Errorf("called %v times, by whether the read impersonates", notified)
		}
	})
}

// The access of a watch is reviewed some time before it listens for changes.
func TestListenerIsCalledForARecentChange(t *testing.T) {
	runRBAC(t, func(t *testing.T, _ *reviewAPI, access *Access, rbac *rbacAPI) {
		r := newRequest("/api/v1/pods", nil)
		read, notified := readOf(t, r), 0
		access.Notify(r, read, func() { notified++ })()
		rbac.send(t, "clusterroles", "MODIFIED", "")
		time.Sleep(2 * settleTime)
		synctest.Wait()
		access.Notify(r, read, func() { notified++ })()
		if notified != 1 {
			t.Errorf("called %d times", notified)
		}
	})
}

// A binding may have been made while the bindings could not be watched.
func TestRoleConcernsEverybodyWhileBindingsAreNotWatched(t *testing.T) {
	runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rbacAPI) {
		rbac.mu.Lock()
		rbac.fails = true
		rbac.mu.Unlock()
		rbac.send(t, roleBindings, "ERROR", "")
		time.Sleep(2 * rbacRetry)
		allowed(t, access, "/api/v1/pods")
		_, before := reviews.counts()
		rbac.event(t, clusterRoles, "ADDED", `{"metadata":{"name":"z","resourceVersion":"9"},"rules":[]}`)
		allowed(t, access, "/api/v1/pods")
		if _, after := reviews.counts(); after == before {
			t.Error("a review that it may affect is not repeated")
		}
	})
}

func TestLostWatchOfRBACObjectsInvalidatesReviews(t *testing.T) {
	runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rbacAPI) {
		allowed(t, access, "/api/v1/pods")
		reviews.mu.Lock()
		reviews.allow = nil
		reviews.mu.Unlock()
		rbac.send(t, "roles", "ERROR", "") // such as 410
		time.Sleep(2 * rbacRetry)
		if rbac.listed("roles") != 2 || allowed(t, access, "/api/v1/pods") {
			t.Errorf("%d lists", rbac.listed("roles"))
		}
	})
}

func TestEndOfAWatchOfRBACObjectsInvalidatesNothing(t *testing.T) {
	runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rbacAPI) {
		allowed(t, access, "/api/v1/pods")
		_, before := reviews.counts()
		_ = rbac.watch("roles").Close()
		time.Sleep(2 * rbacRetry)
		if _, after := reviews.counts(); rbac.listed("roles") != 1 || !allowed(t, access, "/api/v1/pods") || after != before {
			t.Errorf("%d lists, %d more reviews", rbac.listed("roles"), after-before)
		}
		rbac.send(t, "roles", "MODIFIED", "x") // the new watch works
	})
}

// The names of RBAC objects and subjects are as long as etcd accepts, and so many as anybody writes.
func TestMemoryOfRulesIsBounded(t *testing.T) {
	r := newRules()
	var o rbacObject
	o.RoleRef.Kind, o.RoleRef.Name = "Role", strings.Repeat("r", 1000)
	for i := range 1000 {
		o.Subjects = append(o.Subjects, rbacv1.Subject{Kind: rbacv1.UserKind, Name: fmt.Sprint(i)})
	}
	n := 2 * maxBindingsBytes / bindingOf(&o).bytes
	for i := range n {
		o.Metadata.Namespace, o.Metadata.Name = "x", strings.Repeat("b", 1000)+fmt.Sprint(i)
		r.add(roleBindings, &o)
		r.add(roleBindings, &o) // which replaces itself
	}
	bytes := 0
	for k, b := range r.bindings {
		bytes += b.bytes
		if len(k.name) > maxName || len(b.role.name) > maxName {
			t.Fatal("long names are kept")
		}
		if !strings.Contains(k.name, "/") { // else it could be another's name: a change of one would be taken for the other's
			t.Fatalf("%q is kept, which may be a name", k.name)
		}
	}
	if len(r.bindings) != n || bytes != r.bytes || bytes > maxBindingsBytes || bytes < maxBindingsBytes-maxBindingBytes {
		t.Errorf("%d bindings take %d bytes, of which %d are known", len(r.bindings), bytes, r.bytes)
	}
	o.Subjects = o.Subjects[:1] // the last one, whose subjects are not kept
	if affected := r.change(roleBindings, &o, false); !slices.Contains(affected, scope{"x", everybody}) {
		t.Errorf("affects %v", affected)
	}
	if r.forget(roleBindings); r.bytes != 0 || len(r.bindings) != 0 {
		t.Errorf("%d bindings of %d bytes are left", len(r.bindings), r.bytes)
	}
}

// A page of long objects is longer than the memory of Sluice.
func TestObjectsOfAPageAreReadOneByOne(t *testing.T) {
	const size, objects = 128 << 10, 20
	role := `{"metadata":{"name":"x"},"rules":["` + strings.Repeat("<", size) + `"]}`
	body := &counted{in: strings.NewReader(`{"kind":"RoleList","metadata":{"resourceVersion":"7","continue":"more"},"items":[` +
		strings.Repeat(role+",", objects-1) + role + `]}`)}
	added := 0
	meta, length, err := readRBACPage(body, func(o *rbacObject) {
		if added++; body.n > (added+2)*size {
			t.Errorf("object %d is known after %d bytes", added, body.n)
		}
	})
	if err != nil || added != objects || meta.ResourceVersion != "7" || meta.Continue != "more" || length < objects*size {
		t.Errorf("%d objects of %d bytes, %+v, %v", added, length, meta, err)
	}
}

// counted counts what is read.
type counted struct {
	in io.Reader
	n  int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += n
	return n, err
}

func TestPageOfRBACObjectsIsReadWholeOrFails(t *testing.T) {
	read := func(page string) error {
		_, _, err := readRBACPage(strings.NewReader(page), func(*rbacObject) {})
		return err
	}
	const page = `{"kind":"RoleList","metadata":{"resourceVersion":"7"},"items":[{"rules":[{}]},{"rules":null}]}`
	if err := errors.Join(read(page), read(`{"items":null,"metadata":{}}`)); err != nil {
		t.Error(err)
	}
	for i := range page {
		if err := read(page[:i]); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", page[:i], err)
		}
	}
	for _, page := range []string{"[]", "null", `{"items":{}}`, `{"items":[[]]}`} {
		if read(page) == nil {
			t.Errorf("%s is read", page)
		}
	}
}

// pagesOfRoles is an Opener of lists in pages, each as long as one of them.
type pagesOfRoles struct {
	lengths []int
	limits  []string
}

// Open implements Opener.
func (p *pagesOfRoles) Open(_ context.Context, _ string, query url.Values, _ string) (*http.Response, error) {
	next := ""
	if len(p.lengths) > 1 {
		next = "more"
	}
	page := fmt.Sprintf(`{"metadata":{"resourceVersion":"7","continue":%q},"items":[{"rules":[%s]}]}`, next, strings.Repeat(" ", p.lengths[0]))
	p.lengths, p.limits = p.lengths[1:], append(p.limits, query.Get("limit"))
	return &http.Response{Body: io.NopCloser(strings.NewReader(page))}, nil
}

func TestPagesOfLongRBACObjectsAreSmall(t *testing.T) {
	pages := &pagesOfRoles{lengths: []int{rbacPageBytes, 0, 0, 0, 0, rbacPageBytes, 0}}
	w := &rbacWatch{resource: roles, from: pages, rules: newRules()}
	if err := w.list(t.Context()); err != nil || w.version != "7" || !w.rules.listed[roles] {
		t.Fatal(w.version, err)
	}
	if got := strings.Join(pages.limits, " "); got != "10 9 18 36 72 100 99" {
		t.Errorf("limits are %s", got)
	}
}

// The buffer of a long event is given up, with what has been read of the next one in it.
func TestNoEventAfterALongOneIsMissed(t *testing.T) {
	runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rbacAPI) {
		long := fmt.Sprintf(`{"metadata":{"annotations":{"a":"%s"},"name":"y","resourceVersion":"9"},"rules":[]}`, strings.Repeat("<", 2*keptBuffer))
		for i := range 3 {
			allowed(t, access, "/api/v1/pods")
			_, before := reviews.counts()
			role := fmt.Sprintf(`{"metadata":{"name":"x","resourceVersion":"9"},"rules":[%d]}`, i)
			rbac.event(t, clusterRoles, "MODIFIED", fmt.Sprintf(`%s} {"type":"MODIFIED","object":%s} {"type":"MODIFIED","object":%s`, long, long, role))
			time.Sleep(settleTime + time.Millisecond)
			synctest.Wait()
			allowed(t, access, "/api/v1/pods")
			if _, after := reviews.counts(); after == before {
				t.Fatalf("event %d is missed", i)
			}
		}
	})
}
