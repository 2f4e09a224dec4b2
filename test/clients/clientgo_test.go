package clients

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// pair holds the same client for Sluice and for the apiserver.
type pair struct {
	t          *testing.T
	gateway    *harness.Sluice
	cached     resourceClient // through Sluice
	direct     resourceClient // from the apiserver
	responses  *responses
	writer     objectWriter
	mediaTypes []string
}

// clientCase is a kind of client, the resources that it reads, and the media types of the responses.
type clientCase struct {
	name       string
	make       maker
	samples    []sample
	mediaTypes []string
}

var builtIn = []sample{pods, configMaps, deployments, leases}

// Lists, gets and watches from the cache are equal to the apiserver's, and informers converge.
func TestClientGoReadsTheApiserversObjects(t *testing.T) {
	defineGadgets(t)
	runClientCases(t, sluice, []clientCase{
		{"typed", typedAs(""), []sample{pods}, []string{inProtobuf}}, // client-go's default
		{"typed JSON", typedAs(inJSON), builtIn, []string{inJSON}},
		{"typed Protobuf", typedAs(inProtobuf), builtIn, []string{inProtobuf}},
		{"dynamic", asUnstructured, []sample{pods, gadgets}, []string{inJSON}},
		{"metadata", asMetadata, []sample{pods}, []string{inProtobuf}},
		{"metadata of custom resources", asMetadata, []sample{gadgets}, []string{inProtobuf}},
	})
}

// Sluice serves CBOR although the apiserver does not, without a feature gate.
func TestClientGoReadsTheApiserversObjectsInCBOR(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.ClientsAllowCBOR, true)
	featurestesting.SetFeatureDuringTest(t, features.ClientsPreferCBOR, true)
	defineGadgets(t)
	runClientCases(t, sluice, []clientCase{
		{"typed", typedAs(inCBOR), builtIn, []string{inCBOR, inCBORSeq}},
		{"dynamic", asUnstructured, []sample{deployments, gadgets}, []string{inCBOR, inCBORSeq}},
	})
}

// runClientCases reads through a gateway. All watches through another than sluice must be compressed.
func runClientCases(t *testing.T, gateway *harness.Sluice, cases []clientCase) {
	for _, tc := range cases {
		for _, s := range tc.samples {
			t.Run(tc.name+" "+s.API.Name, func(t *testing.T) {
				namespace := apiserver.Namespace(t)
				s.in(t, namespace).create("first") // waits until a custom resource is served
				s.sync(t, gateway)
				t.Run("reads", func(t *testing.T) { newPair(t, gateway, tc, s, namespace).reads() })
				for _, streaming := range []bool{true, false} {
					t.Run(fmt.Sprintf("informer, streaming %v", streaming), func(t *testing.T) {
						featurestesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
						newPair(t, gateway, tc, s, namespace).informer(streaming)
					})
				}
			})
		}
	}
}

func newPair(t *testing.T, gateway *harness.Sluice, tc clientCase, s sample, namespace string) *pair {
	t.Helper()
	cfg, responses := record(gateway.RESTConfig("admin"))
	cached, direct := tc.make(cfg, s, namespace), tc.make(apiserver.RESTConfig("admin"), s, namespace)
	return &pair{t, gateway, cached, direct, responses, s.in(t, namespace), tc.mediaTypes}
}

// reads compares lists and gets at any version, which the cache may serve late, and consistent reads.
func (p *pair) reads() {
	any := metav1.ListOptions{ResourceVersion: "0"}
	harness.Eventually(p.t, "lists are equal", func() error { return p.sameLists(any) })
	if list, err := items(p.cached.list(p.t.Context(), any)); err != nil || len(list) != 1 {
		p.t.Errorf("%d objects in the list, want 1: %v", len(list), err)
	}
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
	p.responses.check(p.t, "cache", p.mediaTypes...)
	// Consistent reads may be forwarded.
	for _, o := range []metav1.ListOptions{{}, {LabelSelector: "app=x", Limit: 1}} {
		if err := p.sameLists(o); err != nil {
			p.t.Error(err)
		}
	}
}

func (p *pair) sameLists(o metav1.ListOptions) error {
	direct, err := items(p.direct.list(p.t.Context(), o))
	if err != nil {
		return err
	}
	cached, err := items(p.cached.list(p.t.Context(), o))
	if err != nil {
		return err
	}
	if diff := cmp.Diff(direct, cached); diff != "" {
		return fmt.Errorf("list (-apiserver +Sluice):\n%s", diff)
	}
	return nil
}

// items returns the items of a list.
func items(list runtime.Object, err error) ([]runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return meta.ExtractList(list)
}

// informer runs an informer against Sluice while objects change.
func (p *pair) informer(streaming bool) {
	ctx, stop := context.WithCancel(p.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.cached.informer.RunWithContext(ctx)
	}()
	defer func() { stop(); <-done }()
	p.converges("the initial state")
	p.writer.create("second")
	p.writer.label("first", "n", time.Now().Format("150405.000000"))
	p.converges("the state after a creation and an update")
	p.writer.delete("second")
	p.converges("the state after a deletion")
	p.responses.check(p.t, "cache", p.mediaTypes...)
	p.responses.checkWatches(p.t, streaming, p.gateway != sluice)
}

// converges waits until the informer's store equals the apiserver's list.
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

// byKey returns objects by namespace and name.
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
