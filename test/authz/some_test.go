package authz

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/kubernetes/scheme"

	"sluice/test/harness"
)

// tenant is a caller that asks for the namespaces that it may read, and the subject of its rights.
type tenant struct {
	name    string
	groups  []string
	subject rbacv1.Subject
}

var tenants = []tenant{
	{"some-user", nil, harness.User("some-user")},
	{"some-member", []string{"some-others", "some-group"}, group("some-group")},
	{"system:serviceaccount:a:some", nil, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "some", Namespace: "a"}},
	{"some-\u00fcser \"x\"", []string{"system:unauthenticated"}, harness.User("some-\u00fcser \"x\"")},
	{"some-nobody", nil, harness.User("some-nobody-else")},
}

// header returns the headers of the requests of a tenant.
func (u *tenant) header(accept string) http.Header {
	h := impersonating(u.name, u.groups...)
	h.Set("Accept", accept)
	h.Set("Sluice-Namespaces", "allowed")
	return h
}

// rights are the rules of roles. Some allow only a part of the reads.
var rights = map[string]rbacv1.PolicyRule{
	"read":      harness.MayRead("", "configmaps", "namespaces"),
	"list":      {Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
	"watch":     {Verbs: []string{"watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
	"one":       {Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"one"}},
	"namespace": {Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"namespaces"}},
	"all":       {Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	"other":     harness.MayRead("", "pods"),
}

// places are namespaces in which tenants get and lose rights.
type places struct {
	names  []string
	bound  []func() // each takes a right
	random *rand.Rand
}

func newPlaces(t *testing.T, random *rand.Rand, n int) *places {
	p := &places{random: random}
	for range n {
		ns := apiserver.Namespace(t)
		p.names = append(p.names, ns)
		for _, name := range []string{"one", "two", "three"} {
			apiserver.MustCreate(t, "/api/v1/namespaces/"+ns+"/configmaps",
				fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"app":%q}},"data":{"of":%q}}`, name, []string{"x", "y"}[random.IntN(2)], ns))
		}
	}
	return p
}

// change binds tenants to rights in some namespaces, and takes others.
func (p *places) change(t *testing.T) {
	t.Helper()
	roles := slices.Sorted(maps.Keys(rights))
	for range 1 + p.random.IntN(2*len(p.names)) {
		u, ns := tenants[p.random.IntN(len(tenants)-1)], p.names[p.random.IntN(len(p.names))]
		p.bound = append(p.bound, apiserver.Grant(t, ns, u.subject, rights[roles[p.random.IntN(len(roles))]]))
	}
	for range p.random.IntN(len(p.bound)/2 + 1) {
		i := p.random.IntN(len(p.bound))
		p.bound[i]()
		p.bound = slices.Delete(p.bound, i, i+1)
	}
}

// someReads are lists and watches across namespaces. NAMESPACE stands for one.
var someReads = []struct{ resource, query, accept string }{
	{"configmaps", "", "application/json"},
	{"configmaps", "resourceVersion=0", "application/json"},
	{"configmaps", "", "application/vnd.kubernetes.protobuf"},
	{"configmaps", "resourceVersion=0", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"},
	{"configmaps", "", "application/json;as=Table;g=meta.k8s.io;v=v1"},
	{"configmaps", "resourceVersion=0&labelSelector=app%3Dx", "application/json"},
	{"configmaps", "fieldSelector=metadata.name%3Done", "application/json"},
	{"configmaps", "resourceVersion=0&fieldSelector=metadata.namespace%3DNAMESPACE", "application/json"},
	{"configmaps", "fieldSelector=metadata.namespace%3DNAMESPACE&limit=1", "application/json"},
	{"configmaps", "limit=2", "application/json"},
	{"configmaps", "limit=3&labelSelector=app%3Dy", "application/vnd.kubernetes.protobuf"},
	{"configmaps", "limit=1", "application/json;as=Table;g=meta.k8s.io;v=v1"},
	{"configmaps", "watch=1&timeoutSeconds=1&resourceVersion=0", "application/json"},
	{"configmaps", "watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Done", "application/json"},
	{"configmaps", "watch=1&timeoutSeconds=2&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1", "application/json"},
	{"nodes", "resourceVersion=0", "application/json"}, // which have no namespaces
	{"nodes", "watch=1&timeoutSeconds=1&resourceVersion=0", "application/json"},
	{"namespaces", "", "application/json"},
	{"namespaces", "limit=1", "application/json"},
	{"namespaces", "watch=1&timeoutSeconds=1&resourceVersion=0", "application/json"},
}

func TestReadsOfSomeNamespacesAreTheUnionOfTheirAnswers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	p := newPlaces(t, rand.New(rand.NewPCG(seed, 0)), 8)
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	sluice.WaitForCacheSync(t, "/api/v1/namespaces", "namespaces.v1")
	var shown, refused atomic.Int64
	for range 4 {
		p.change(t)
		var reads errgroup.Group
		reads.SetLimit(10)
		for _, u := range tenants {
			for _, read := range someReads {
				read.query = strings.ReplaceAll(read.query, "NAMESPACE", p.names[0])
				reads.Go(func() error {
					var n int
					ctx, cancel := context.WithTimeout(t.Context(), settled)
					defer cancel()
					err := harness.Poll(ctx, func() error {
						got, err := u.readAll(t.Context(), read.resource, read.query, read.accept)
						if err != nil {
							return err
						}
						want, err := p.union(t.Context(), u, read.resource, read.query, read.accept)
						if diff := cmp.Diff(want, got); err == nil && diff != "" {
							err = fmt.Errorf("-apiserver +sluice\n%s", diff)
						}
						n = len(got.Objects)
						return err
					})
					if shown.Add(int64(n)); n == 0 {
						refused.Add(1)
					}
					if err != nil {
						t.Errorf("%s: %s?%s as %s: %v", u.name, read.resource, read.query, read.accept, err)
					}
					return nil
				})
			}
		}
		_ = reads.Wait()
	}
	if shown.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d objects shown, %d reads refused or empty", shown.Load(), refused.Load())
	}
}

// settled is enough time for every change of rights to count.
const settled = time.Minute

// answered is what a tenant sees of a read.
type answered struct {
	Code    int
	Message string
	Objects []string
}

// union returns the answers of the apiserver to a read in each namespace.
func (p *places) union(ctx context.Context, u tenant, resource, query, accept string) (whole answered, err error) {
	names := append([]string{"a", "b"}, p.names...)
	parts := make([]answered, len(names))
	values, _ := url.ParseQuery(query)
	values.Del("limit")
	var reads errgroup.Group
	for i, ns := range names {
		path := "/api/v1/namespaces/" + ns + "/" + resource + "?" + values.Encode()
		if resource == "namespaces" {
			path = "/api/v1/namespaces/" + ns
		}
		reads.Go(func() (err error) {
			parts[i], _, err = u.read(ctx, apiserver.Raw("admin"), path, accept)
			return err
		})
	}
	err = reads.Wait()
	for _, one := range parts {
		if one.Code == http.StatusOK {
			whole.Code, whole.Objects = one.Code, append(whole.Objects, one.Objects...)
		}
	}
	if whole.Code == 0 && err == nil {
		whole, _, err = u.read(ctx, apiserver.Raw("admin"), "/api/v1/"+resource+"?"+query, accept)
	}
	slices.Sort(whole.Objects)
	return whole, err
}

// readAll reads all pages through Sluice. It fails if a page shows that others follow which are not visible.
func (u *tenant) readAll(ctx context.Context, resource, query, accept string) (whole answered, err error) {
	values, _ := url.ParseQuery(query)
	for {
		page, meta, err := u.read(ctx, sluice.Raw("admin"), "/api/v1/"+resource+"?"+values.Encode(), accept)
		if err != nil || page.Code != http.StatusOK {
			return page, err
		}
		limit, shown := values.Get("limit"), fmt.Sprint(len(page.Objects))
		if limit != "" && (shown > limit || meta.Continue != "" && shown != limit) ||
			meta.RemainingItemCount != nil || values.Get("continue") != "" && len(page.Objects) == 0 && !values.Has("labelSelector") {
			return page, fmt.Errorf("a page has %d objects, then %v", len(page.Objects), meta)
		}
		whole.Code, whole.Objects = page.Code, append(whole.Objects, page.Objects...)
		if meta.Continue == "" {
			slices.Sort(whole.Objects)
			return whole, nil
		}
		values.Set("continue", meta.Continue)
	}
}

// read reads a list or page, an object, or a watch until it ends.
func (u *tenant) read(ctx context.Context, from *harness.RawClient, path, accept string) (a answered, meta metav1.ListMeta, err error) {
	resp, err := from.Do(ctx, harness.Request{Path: path, Header: u.header(accept)})
	if err != nil {
		return a, meta, err
	}
	if a.Code = resp.Status; a.Code != http.StatusOK {
		var status metav1.Status
		if strings.Contains(resp.Header.Get("Content-Type"), "json") {
			err = json.Unmarshal(resp.Body, &status)
		}
		a.Message = status.Message
		return a, meta, err
	}
	body := resp.Body
	if strings.Contains(accept, "protobuf") {
		list := &corev1.ConfigMapList{}
		if _, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, list); err == nil {
			body, err = json.Marshal(list)
		}
		if err != nil {
			return a, meta, err
		}
	}
	for in := json.NewDecoder(bytes.NewReader(body)); in.More(); {
		var text struct {
			Type     string
			Object   any
			Kind     string
			Metadata metav1.ListMeta
			Items    []any
			Rows     []struct {
				Cells  []any
				Object any
			}
		}
		var object map[string]any
		var raw json.RawMessage
		if err = in.Decode(&raw); err != nil {
			return a, meta, err
		}
		if err = errors.Join(json.Unmarshal(raw, &text), json.Unmarshal(raw, &object)); err != nil {
			return a, meta, err
		}
		meta = text.Metadata
		switch {
		case text.Type == "ADDED":
			a.add(text.Object)
		case text.Type == "BOOKMARK":
		case text.Type != "":
			return a, meta, fmt.Errorf("an event is %s", raw)
		case text.Kind == "Namespace":
			a.add(object)
		default:
			for _, item := range text.Items {
				a.add(item)
			}
			for _, row := range text.Rows { // the age may differ
				a.add(map[string]any{"cells": row.Cells[:2], "of": row.Object})
			}
		}
	}
	return a, meta, nil
}

// add adds an object, without the kind that items of lists lack.
func (a *answered) add(object any) {
	if o, ok := object.(map[string]any); ok {
		delete(o, "kind")
		delete(o, "apiVersion")
	}
	text, _ := json.Marshal(object)
	a.Objects = append(a.Objects, string(text))
}

// The apiserver decides about what the cache never shows.
func TestReadsThatTheCacheNeverShowsPassWhateverTheyAskFor(t *testing.T) {
	t.Parallel()
	ns, u := apiserver.Namespace(t), tenant{name: "some-reader"}
	apiserver.Grant(t, ns, harness.User(u.name), rights["all"])
	harness.Eventually(t, "the namespace is shown", func() error {
		got, err := u.namespaces(t.Context())
		if err == nil && !slices.Equal(got, []string{ns}) {
			err = fmt.Errorf("%v are shown", got)
		}
		return err
	})
	for _, path := range []string{
		"/api/v1/secrets", "/api/v1/secrets?watch=1", "/api/v1/events?resourceVersion=0", "/api/v1/nodes",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/api/v1/namespaces/default/configmaps?resourceVersion=0",
		"/api/v1/configmaps?labelSelector=" + strings.Repeat("a%2C", 3000) + "a", "/apis/apps/v1/none", "/api/v1/namespaces/default",
	} {
		want, _, err := u.read(t.Context(), apiserver.Raw("admin"), path, "application/json")
		got, _, err2 := u.read(t.Context(), sluice.Raw("admin"), path, "application/json")
		if diff := cmp.Diff(want, got); err != nil || err2 != nil || diff != "" || got.Code == http.StatusOK {
			t.Errorf("%.80s: %v, %v, -apiserver +sluice\n%s", path, err, err2, diff)
		}
	}
	for _, resource := range []string{"configmaps", "namespaces"} {
		path := "/api/v1/watch/" + resource + "?resourceVersion=0&timeoutSeconds=1"
		got, _, err := u.read(t.Context(), sluice.Raw("admin"), path, "application/json")
		if err != nil || len(got.Objects) == 0 {
			t.Errorf("%s: %v, %v", path, got, err)
		}
		for _, o := range got.Objects {
			if !strings.Contains(o, `"`+ns+`"`) {
				t.Errorf("%s shows %s", path, o)
			}
		}
	}
}

// A watch of two namespaces loses one of them, in which a writer updates a configuration map all the time.
func TestLostNamespaceHasNoLaterEvents(t *testing.T) {
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	u := tenant{name: "some-loser"}
	kept, lost := apiserver.Namespace(t), apiserver.Namespace(t)
	read := harness.MayRead("", "configmaps")
	apiserver.Grant(t, kept, harness.User(u.name), read)
	revoke := apiserver.Grant(t, lost, harness.User(u.name), read)
	written := write(t, lost)
	harness.Eventually(t, "both namespaces are shown", func() error {
		visible, err := u.namespaces(t.Context())
		if err == nil && !slices.Equal(visible, slices.Sorted(slices.Values([]string{kept, lost}))) {
			err = fmt.Errorf("%v are shown", visible)
		}
		return err
	})
	resp := sluice.Raw("admin").MustOpen(t, harness.Request{Path: "/api/v1/configmaps?watch=1&resourceVersion=0", Header: u.header("application/json")})
	last := make(chan result, 1)
	go func() { last <- readEvents(resp.Body) }()
	written.await(t, backlog)
	revoke()
	apiserver.Raw("admin").AwaitStatus(t, http.StatusForbidden,
		harness.Request{Path: "/api/v1/namespaces/" + lost + "/configmaps?limit=1", Header: u.header("application/json")})
	revoked := time.Now()
	got := receive(t, last)
	if late := got.latest.Sub(revoked); got.events == 0 || late > revocationBound || got.code != http.StatusGone {
		t.Errorf("%d events, the last %v after the revocation, then code %d, %v", got.events, late, got.code, got.err)
	}
	// A watch that resumes would miss the loss, and so would a page.
	resumed, _, err := u.read(t.Context(), sluice.Raw("admin"), "/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion=1", "application/json")
	if err != nil || resumed.Code != http.StatusGone {
		t.Errorf("a watch that resumes gets %v, %v", resumed, err)
	}
}

// namespaces returns the namespaces of the configuration maps that a tenant is shown.
func (u *tenant) namespaces(ctx context.Context) (all []string, err error) {
	got, err := u.readAll(ctx, "configmaps", "", "application/json")
	for _, text := range got.Objects {
		var o struct{ Metadata metav1.ObjectMeta }
		err = errors.Join(err, json.Unmarshal([]byte(text), &o))
		all = append(all, o.Metadata.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

// The right to get a Namespace shows it as it is now.
func TestPastVersionsOfNamespacesAreNotShownToThoseThatMayGetThem(t *testing.T) {
	t.Parallel()
	sluice.WaitForCacheSync(t, "/api/v1/namespaces", "namespaces.v1")
	ns, u, c := apiserver.Namespace(t), tenant{name: "some-getter"}, apiserver.Client("admin").CoreV1().Namespaces()
	annotate := func(value string) (version int64) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"of":%q}}}`, value)
		o, err := c.Patch(t.Context(), ns, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		version, err = strconv.ParseInt(o.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return version
	}
	before := annotate("past")
	annotate("present")
	token, err := storage.EncodeContinue("/registry/-", "/registry/", before)
	if err != nil {
		t.Fatal(err)
	}
	apiserver.Grant(t, ns, harness.User(u.name), rights["namespace"])
	check := func(query string, code int) {
		t.Helper()
		harness.Eventually(t, query, func() error {
			got, _, err := u.read(t.Context(), sluice.Raw("admin"), "/api/v1/namespaces?"+query, "application/json")
			if err == nil && (got.Code != code || strings.Contains(fmt.Sprint(got.Objects), "past")) {
				err = fmt.Errorf("%+v, want %d", got, code)
			}
			return err
		})
	}
	exactly := fmt.Sprintf("resourceVersionMatch=Exact&resourceVersion=%d", before)
	check(exactly, http.StatusGone)
	check("continue="+token, http.StatusGone)
	check("", http.StatusOK)
	check(exactly, http.StatusGone)
	check("continue="+token, http.StatusGone)
}
