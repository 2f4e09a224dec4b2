package clients

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"

	"sluice/test/harness"
)

const (
	inJSON     = "application/json"
	inProtobuf = "application/vnd.kubernetes.protobuf"
	inCBOR     = "application/cbor"
	inCBORSeq  = "application/cbor-seq" // watches
)

// pair is the same client of both servers.
type pair struct {
	t          *testing.T
	cached     way // through Sluice
	direct     way // from the apiserver
	answers    *answers
	writes     writes
	mediaTypes []string
}

// clientCase is a client for some resources, and the media types that it is
// answered in.
type clientCase struct {
	name       string
	make       maker
	samples    []sample
	mediaTypes []string
}

var builtIn = []sample{pods, configMaps, deployments, leases}

// Typed, dynamic and metadata clients get from the cache what the apiserver
// gives them, and their informers end in its state.
func TestClientGo(t *testing.T) {
	defineGadgets(t, plane)
	runClientCases(t, plane, sluice, []clientCase{
		{"typed", typedAs(""), []sample{pods}, []string{inProtobuf}}, // client-go prefers it
		{"typed JSON", typedAs(inJSON), builtIn, []string{inJSON}},
		{"typed Protobuf", typedAs(inProtobuf), builtIn, []string{inProtobuf}},
		{"dynamic", asUnstructured, []sample{pods, gadgets}, []string{inJSON}},
		{"metadata", asMetadata, []sample{pods}, []string{inProtobuf}},
		{"metadata of custom resources", asMetadata, []sample{gadgets}, []string{inProtobuf}},
	})
}

// client-go speaks CBOR when its gates are on. An apiserver whose own gate is
// off does not; through Sluice it is spoken all the same.
func TestClientGoInCBOR(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.ClientsAllowCBOR, true)
	featurestesting.SetFeatureDuringTest(t, features.ClientsPreferCBOR, true)
	cases := []clientCase{
		{"typed", typedAs(inCBOR), builtIn, []string{inCBOR, inCBORSeq}},
		{"dynamic", asUnstructured, []sample{deployments, gadgets}, []string{inCBOR, inCBORSeq}},
	}
	t.Run("before an apiserver without", func(t *testing.T) {
		defineGadgets(t, plane)
		runClientCases(t, plane, sluice, cases)
		testCBORPasses(t, plane, sluice)
		testCBORWrites(t, plane, sluice)
	})
	t.Run("before an apiserver with", func(t *testing.T) {
		plane := harness.Start(t, harness.Options{Flags: []string{"--feature-gates=CBORServingAndStorage=true"}})
		defineGadgets(t, plane)
		sluice := plane.StartSluice(t)
		runClientCases(t, plane, sluice, cases)
		testCBORPasses(t, plane, sluice)
		testCBORWrites(t, plane, sluice)
	})
}

func runClientCases(t *testing.T, c *harness.ControlPlane, gateway *harness.Sluice, cases []clientCase) {
	for _, tc := range cases {
		for _, s := range tc.samples {
			t.Run(tc.name+" "+s.gvr.Resource, func(t *testing.T) {
				namespace := c.Namespace(t)
				s.at(t, c, namespace).create("first") // a custom resource is served from now on
				s.sync(t, gateway)
				for name, test := range map[string]func(*pair){
					"reads": (*pair).reads, "watch": (*pair).watch, "streaming list": (*pair).streamingList,
				} {
					t.Run(name, func(t *testing.T) { test(newPair(t, c, gateway, tc, s, namespace)) })
				}
				for _, streaming := range []bool{true, false} {
					t.Run(fmt.Sprintf("informer, streaming %v", streaming), func(t *testing.T) {
						featurestesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
						newPair(t, c, gateway, tc, s, namespace).informer(streaming)
					})
				}
			})
		}
	}
}

func newPair(t *testing.T, c *harness.ControlPlane, gateway *harness.Sluice, tc clientCase, s sample, namespace string) *pair {
	t.Helper()
	cfg, answers := record(gateway.RESTConfig("admin"))
	cached, err := tc.make(cfg, s, namespace)
	if err != nil {
		t.Fatal(err)
	}
	direct, err := tc.make(c.RESTConfig("admin"), s, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return &pair{t, cached, direct, answers, s.at(t, c, namespace), tc.mediaTypes}
}

// reads compares lists and gets of any version. The cache may be behind for a
// moment.
func (p *pair) reads() {
	any := metav1.ListOptions{ResourceVersion: "0"}
	harness.Eventually(p.t, "the list is the apiserver's", func() error {
		return p.sameLists(any, any)
	})
	p.sees(any)
	direct, err := p.direct.get(p.t.Context(), "first")
	if err != nil {
		p.t.Fatal(err)
	}
	cached, err := p.cached.get(p.t.Context(), "first")
	if err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(direct, cached); diff != "" {
		p.t.Errorf("get (-apiserver +Sluice):\n%s", diff)
	}
	p.answers.allFrom(p.t, "cache", p.mediaTypes...)
	// The present may be passed.
	if err := p.sameLists(metav1.ListOptions{}, metav1.ListOptions{}); err != nil {
		p.t.Error(err)
	}
	if err := p.sameLists(metav1.ListOptions{LabelSelector: "app=x", Limit: 1}, metav1.ListOptions{LabelSelector: "app=x", Limit: 1}); err != nil {
		p.t.Error(err)
	}
}

// sees checks that a list has the object that is there.
func (p *pair) sees(o metav1.ListOptions) {
	p.t.Helper()
	list, err := p.cached.list(p.t.Context(), o)
	if err != nil {
		p.t.Fatal(err)
	}
	if n := meta.LenList(list); n != 1 {
		p.t.Errorf("%d objects are listed", n)
	}
}

func (p *pair) sameLists(fromDirect, fromCached metav1.ListOptions) error {
	direct, err := items(p.direct.list(p.t.Context(), fromDirect))
	if err != nil {
		return err
	}
	cached, err := items(p.cached.list(p.t.Context(), fromCached))
	if err != nil {
		return err
	}
	if diff := cmp.Diff(direct, cached); diff != "" {
		return fmt.Errorf("list (-apiserver +Sluice):\n%s", diff)
	}
	return nil
}

// items are a list's.
func items(list runtime.Object, err error) ([]runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return meta.ExtractList(list)
}

// watch compares the events of the same changes.
func (p *pair) watch() {
	list, err := p.cached.list(p.t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		p.t.Fatal(err)
	}
	o := metav1.ListOptions{ResourceVersion: list.(metav1.ListInterface).GetResourceVersion(), LabelSelector: "app=x"}
	direct, cached := open(p.t, p.direct, o), open(p.t, p.cached, o)
	p.writes.create("second")
	p.writes.label("second", "n", "2")
	p.writes.label("second", "app", "other") // leaves the selection
	p.writes.label("second", "app", "x")     // and comes back
	p.writes.delete("second")
	for deletions := 0; deletions < 2; {
		d, c := next(p.t, direct), next(p.t, cached)
		if diff := cmp.Diff(d, c); diff != "" {
			p.t.Fatalf("event (-apiserver +Sluice):\n%s", diff)
		}
		if d.Type == watch.Deleted {
			deletions++
		}
	}
	p.answers.allFrom(p.t, "cache", p.mediaTypes...)
}

func open(t *testing.T, w way, o metav1.ListOptions) watch.Interface {
	t.Helper()
	stream, err := w.watch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Stop)
	return stream
}

func next(t *testing.T, stream watch.Interface) watch.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case e, open := <-stream.ResultChan():
		if !open {
			t.Fatal("the watch ended")
		}
		return e
	case <-ctx.Done():
		t.Fatal("no event comes")
	}
	panic("not reached")
}

// streamingList compares what comes up to the bookmark that ends the state.
func (p *pair) streamingList() {
	yes := true
	o := metav1.ListOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
	direct, cached := initial(p.t, open(p.t, p.direct, o)), initial(p.t, open(p.t, p.cached, o))
	if len(direct) != 1 {
		p.t.Errorf("the apiserver sent %d objects", len(direct))
	}
	if diff := cmp.Diff(direct, cached); diff != "" {
		p.t.Errorf("state (-apiserver +Sluice):\n%s", diff)
	}
	p.answers.allFrom(p.t, "cache", p.mediaTypes...)
}

// initial are the events before the bookmark that ends the state.
func initial(t *testing.T, stream watch.Interface) (all []watch.Event) {
	t.Helper()
	for {
		e := next(t, stream)
		if e.Type != watch.Bookmark {
			all = append(all, e)
			continue
		}
		if e.Object.(metav1.Object).GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
			t.Errorf("the bookmark is %v", e.Object)
		}
		return all
	}
}

// informer follows creations, updates and deletions.
func (p *pair) informer(streaming bool) {
	ctx, stop := context.WithCancel(p.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.cached.informer.RunWithContext(ctx)
	}()
	defer func() { stop(); <-ended }()
	p.converges("the informer is in sync")
	p.writes.create("second")
	p.writes.label("first", "n", time.Now().Format("150405.000000"))
	p.converges("the informer saw a creation and an update")
	p.writes.delete("second")
	p.converges("the informer saw a deletion")
	p.answers.allFrom(p.t, "cache", p.mediaTypes...)
	p.answers.streamed(p.t, streaming)
}

// streamed checks that the state was streamed, or listed.
func (a *answers) streamed(t *testing.T, want bool) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := strings.Contains(a.all[0].url, "sendInitialEvents=true"); got != want {
		t.Errorf("began with %s", a.all[0].url)
	}
}

// converges waits until the informer holds what the apiserver lists.
func (p *pair) converges(what string) {
	p.t.Helper()
	harness.Eventually(p.t, what, func() error {
		direct, err := items(p.direct.list(p.t.Context(), metav1.ListOptions{}))
		if err != nil {
			return err
		}
		if !p.cached.informer.HasSynced() {
			return fmt.Errorf("not in sync")
		}
		if diff := cmp.Diff(byKey(direct), byKey(p.cached.informer.GetStore().List())); diff != "" {
			return fmt.Errorf("state (-apiserver +informer):\n%s", diff)
		}
		return nil
	})
}

// byKey are objects by namespace and name.
func byKey[O any](objects []O) map[string]any {
	m := make(map[string]any, len(objects))
	for _, o := range objects {
		key, err := cache.MetaNamespaceKeyFunc(o)
		if err != nil {
			key = err.Error()
		}
		m[key] = o
	}
	return m
}
