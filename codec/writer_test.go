package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"sluice/codec/bookmark"
	"sluice/test/support/codectest"
)

var (
	podsProto = &Resource{Version: "v1", Resource: "pods", Kind: "Pod", ListKind: "PodList", Source: Protobuf, Namespaced: true,
		Columns: codectest.PodColumns()}
	podsJSON = &Resource{Version: "v1", Resource: "pods", Kind: "Pod", ListKind: "PodList", Source: JSON, Namespaced: true, Columns: codectest.PodColumns(),
		Bookmark: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"},"spec":{"containers":null},"status":{}}`)}
	foos = &Resource{Group: "ex.io", Version: "v1", Resource: "foos", Kind: "Foo", ListKind: "FooList", Style: Unstructured, Namespaced: true}
)

// since138 returns a resource as Kubernetes 1.38 serves it.
func since138(r *Resource) *Resource {
	now := *r
	now.ShardInfo = true
	return &now
}

// pod returns a pod with something in most kinds of field.
func pod(i int) *corev1.Pod {
	yes, grace := true, int64(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("p", i), Namespace: "ns<1>", UID: "u-1", ResourceVersion: fmt.Sprint(100 + i), Generation: int64(i % 2),
			CreationTimestamp: metav1.NewTime(time.Unix(1700000000+int64(i), 0)),
			Labels:            map[string]string{"app": "x", "b": ""}, Annotations: map[string]string{"a/b": "\"&\u2028é\n", "z": "1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "o", Controller: &yes}},
			Finalizers:      []string{"f/1", "f/2"}, DeletionTimestamp: &metav1.Time{Time: time.Unix(1800000000, 0)}, DeletionGracePeriodSeconds: &grace,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
				Time: &metav1.Time{Time: time.Unix(1700000001, 0)}, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{}}}}`), Subresource: "status"}},
		},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1Gi")}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
	}
}

func pods(n int) []*corev1.Pod {
	out := make([]*corev1.Pod, n)
	for i := range out {
		out[i] = pod(i)
	}
	return out
}

// stored returns a pod in the form in which a resource with this source is stored.
func stored(t testing.TB, p *corev1.Pod, source Encoding) []byte {
	if source == Protobuf {
		b, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	q := p.DeepCopy()
	q.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	b, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// storedIn returns a pod as a resource stores it: as a Foo, if it has custom resources.
func storedIn(t testing.TB, r *Resource, p *corev1.Pod) []byte {
	if r.Style == Typed {
		return stored(t, p, r.Source)
	}
	return bytes.TrimSuffix(encode(t, Format{}, custom(p)), []byte("\n"))
}

func custom(p *corev1.Pod) *unstructured.Unstructured {
	obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		panic(err)
	}
	obj["apiVersion"], obj["kind"] = "ex.io/v1", "Foo"
	return &unstructured.Unstructured{Object: obj}
}

func encoderFor(f Format) runtime.Encoder {
	switch f.Encoding {
	case Protobuf:
		return protobuf.NewSerializer(nil, nil)
	case CBOR:
		return cbor.NewSerializer(nil, nil)
	default:
		return jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, nil, nil, jsonserializer.SerializerOptions{
			Pretty: f.Pretty, Yaml: f.Encoding == YAML, StreamingCollectionsEncoding: true})
	}
}

func encode(t testing.TB, f Format, obj runtime.Object) []byte {
	var b bytes.Buffer
	if err := encoderFor(f).Encode(obj, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// writeList writes a whole list as the documentation of Writer says.
func writeList(t testing.TB, w *Writer, m metav1.ListMeta, items [][]byte) []byte {
	var run []byte
	var err error
	for i, src := range items {
		if i > 0 {
			run = append(run, w.Separator()...)
		}
		if run, err = w.AppendItem(run, src); err != nil {
			t.Fatal(err)
		}
	}
	out := w.AppendListHead([]byte("x"), m, len(items), len(run))
	out = append(out, run...)
	out = w.AppendListTail(out, m, len(items))
	if out[0] != 'x' {
		t.Fatal("dst overwritten")
	}
	return out[1:]
}

func mustWriter(t testing.TB, r *Resource, f Format) *Writer {
	w, err := NewWriter(r, f)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// withoutShards returns the metadata of a list whose shape does not repeat shardInfo.
func withoutShards(m metav1.ListMeta) metav1.ListMeta {
	m.ShardInfo = nil
	return m
}

var seven = int64(7)

var listMetas = []metav1.ListMeta{
	{ResourceVersion: "12"},
	{ResourceVersion: "12", Continue: "eyJ", RemainingItemCount: &seven},
	{},
	{ResourceVersion: "12", ShardInfo: &metav1.ShardInfo{Selector: "shardRange(a, '<', '\u00e4')"}},
}

// partial returns the PartialObjectMetadata of an object as the apiserver makes it.
func partial(obj metav1.Object, v MetaVersion) *metav1.PartialObjectMetadata {
	p := meta.AsPartialObjectMetadata(obj)
	p.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: v.String()}
	return p
}

// partials returns the PartialObjectMetadataList of objects. Its items have kind and apiVersion.
func partials(objs []metav1.Object, m metav1.ListMeta, v MetaVersion) runtime.Object {
	var items []metav1.PartialObjectMetadata
	for _, o := range objs {
		items = append(items, *partial(o, v))
	}
	tm := metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: v.String()}
	if v == MetaV1beta1 {
		return &metav1beta1.PartialObjectMetadataList{TypeMeta: tm, ListMeta: m, Items: items}
	}
	return &metav1.PartialObjectMetadataList{TypeMeta: tm, ListMeta: m, Items: items}
}

var plainFormats = []Format{{}, {Pretty: true}, {Encoding: Protobuf}, {Encoding: YAML}, {Encoding: CBOR}}

// equalIn compares in a format: the apiserver shuffles the maps of CBOR.
func equalIn(t *testing.T, f Format, got, want []byte) {
	t.Helper()
	if f.Encoding == CBOR {
		sameCBOR(t, got, want, false)
		return
	}
	equal(t, got, want)
}

func TestTypedListsEqualApimachinery(t *testing.T) {
	for _, r := range []*Resource{podsProto, podsJSON} {
		for _, f := range plainFormats {
			if (f.Encoding == Protobuf || f.Encoding == CBOR) && r.Source == JSON {
				continue
			}
			t.Run(fmt.Sprintf("%v to %v pretty=%v", r.Source, f.Encoding, f.Pretty), func(t *testing.T) {
				w := mustWriter(t, r, f)
				for _, m := range listMetas {
					for _, n := range []int{0, 1, 30} {
						list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: m, Items: []corev1.Pod{}}
						var items [][]byte
						for _, p := range pods(n) {
							list.Items = append(list.Items, *p)
							items = append(items, stored(t, p, r.Source))
						}
						equalIn(t, f, writeList(t, w, m, items), encode(t, f, list))
					}
				}
				p := pod(1)
				p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
				got, err := w.AppendObject(nil, stored(t, p, r.Source))
				if err != nil {
					t.Fatal(err)
				}
				equalIn(t, f, got, encode(t, f, p))
			})
		}
	}
}

func TestEventsEqualApimachinery(t *testing.T) {
	p := pod(1)
	p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	for r, obj := range map[*Resource]runtime.Object{podsProto: p, podsJSON: p, foos: custom(p)} {
		for _, f := range []Format{{}, {Encoding: Protobuf}, {Encoding: CBOR}} {
			w, err := NewWriter(r, f)
			if errors.Is(err, ErrUnsupported) {
				continue
			}
			want := encode(t, f, obj)
			switch f.Encoding {
			case Protobuf:
				event := metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: want}}
				body, _ := event.Marshal()
				want = append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
			case CBOR:
				want = append([]byte("\xd9\xd9\xf7\xa2\x44type\x45ADDED\x46object"), want...)
			default:
				want = fmt.Appendf(nil, "{\"type\":\"ADDED\",\"object\":%s}\n", bytes.TrimSpace(want))
			}
			got, err := w.AppendEvent(nil, "ADDED", storedIn(t, r, p), true)
			if err != nil {
				t.Fatal(err)
			}
			equalIn(t, f, got, want)
		}
	}
}

func TestCustomListsEqualApimachinery(t *testing.T) {
	for _, f := range plainFormats {
		if f.Encoding == Protobuf {
			continue
		}
		t.Run(fmt.Sprintf("%v pretty=%v", f.Encoding, f.Pretty), func(t *testing.T) {
			w, now := mustWriter(t, foos, f), mustWriter(t, since138(foos), f)
			for _, m := range listMetas {
				for _, n := range []int{0, 1, 30} {
					list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "ex.io/v1", "kind": "FooList",
						"metadata": map[string]any{"continue": m.Continue, "resourceVersion": m.ResourceVersion}}}
					if m.RemainingItemCount != nil {
						list.Object["metadata"].(map[string]any)["remainingItemCount"] = *m.RemainingItemCount
					}
					list.Items = []unstructured.Unstructured{}
					var items [][]byte
					for _, p := range pods(n) {
						list.Items = append(list.Items, *custom(p))
						items = append(items, storedIn(t, foos, p))
					}
					equalIn(t, f, writeList(t, w, m, items), encode(t, f, list))
					if m.ShardInfo != nil {
						list.Object["metadata"].(map[string]any)["shardInfo"] = map[string]any{"selector": m.ShardInfo.Selector}
					}
					equalIn(t, f, writeList(t, now, m, items), encode(t, f, list))
				}
			}
		})
	}
}

func TestMetadataListsEqualApimachinery(t *testing.T) {
	for _, r := range []*Resource{podsProto, podsJSON, foos} {
		for _, f := range plainFormats {
			for _, v := range []MetaVersion{MetaV1, MetaV1beta1} {
				f.Shape, f.MetaVersion = Metadata, v
				t.Run(fmt.Sprintf("%v %v to %v %v pretty=%v", r.Resource, r.Source, f.Encoding, v, f.Pretty), func(t *testing.T) {
					w := mustWriter(t, r, f)
					for _, n := range []int{0, 1, 30} {
						var objs []metav1.Object
						var items [][]byte
						for _, p := range pods(n) {
							objs = append(objs, p)
							items = append(items, storedIn(t, r, p))
						}
						m := listMetas[1]
						m.ShardInfo = listMetas[3].ShardInfo
						equalIn(t, f, writeList(t, w, m, items), encode(t, f, partials(objs, withoutShards(m), v)))
						equalIn(t, f, writeList(t, mustWriter(t, since138(r), f), m, items), encode(t, f, partials(objs, m, v)))
						if n == 1 {
							got, err := w.AppendObject(nil, items[0])
							if err != nil {
								t.Fatal(err)
							}
							equalIn(t, f, got, encode(t, f, partial(objs[0], v)))
						}
					}
				})
			}
		}
	}
}

func equal(t testing.TB, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		i := 0
		for i < len(got) && i < len(want) && got[i] == want[i] {
			i++
		}
		i = max(0, i-60)
		t.Fatalf("differ from byte %d\ngot  %d bytes: %q\nwant %d bytes: %q", i, len(got), clip(got[i:]), len(want), clip(want[i:]))
	}
}

func clip(b []byte) []byte { return b[:min(len(b), 300)] }

func TestNewWriterRefusesInexactConversions(t *testing.T) {
	for _, row := range []struct {
		name string
		r    *Resource
		f    Format
	}{
		{"protobuf of typed JSON", podsJSON, Format{Encoding: Protobuf}},
		{"CBOR of typed JSON", podsJSON, Format{Encoding: CBOR}},
		{"protobuf of custom", foos, Format{Encoding: Protobuf}},
		{"protobuf Table", podsProto, Format{Encoding: Protobuf, Shape: Table}},
		{"CBOR Table", podsJSON, Format{Encoding: CBOR, Shape: Table}},
		{"Table without columns", foos, Format{Shape: Table}},
		{"custom stored as Protobuf", &Resource{Style: Unstructured, Source: Protobuf}, Format{}},
		{"stored as YAML", &Resource{Source: YAML}, Format{}},
		{"no plan", &Resource{Group: "x", Version: "v1", Kind: "X", Source: Protobuf}, Format{}},
	} {
		if _, err := NewWriter(row.r, row.f); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

func TestErrorEventCarriesAStatusInEveryShape(t *testing.T) {
	s := &apierrors.NewResourceExpired("too old resource version: 1 (1183)").ErrStatus
	want := `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (1183)","reason":"Expired","code":410}}` + "\n"
	for _, f := range []Format{{}, {Shape: Metadata}} {
		if got := string(mustWriter(t, podsJSON, f).AppendErrorEvent(nil, s)); got != want {
			t.Errorf("got %s", got)
		}
	}
}

func TestBookmarkHasOnlyVersionAndAnnotations(t *testing.T) {
	for _, row := range []struct {
		r    *Resource
		f    Format
		end  bool
		want string
	}{
		{podsJSON, Format{}, true, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1804","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}}`},
		{podsJSON, Format{}, false, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1804"},"spec":{"containers":null},"status":{}}}`},
		{podsJSON, Format{Shape: Metadata}, true, `{"type":"BOOKMARK","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1804","annotations":{"k8s.io/initial-events-end":"true"}}}}`},
		{foos, Format{}, true, `{"type":"BOOKMARK","object":{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"1804"}}}`},
		{foos, Format{}, false, `{"type":"BOOKMARK","object":{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"resourceVersion":"1804"}}}`},
	} {
		got, err := mustWriter(t, row.r, row.f).AppendBookmark(nil, "1804", row.end, false)
		if err != nil || string(got) != row.want+"\n" {
			t.Errorf("got  %s%v\nwant %s", got, err, row.want)
		}
	}
	bare := *podsJSON
	bare.Bookmark = nil
	w := mustWriter(t, &bare, Format{})
	if _, err := w.AppendBookmark(nil, "1", true, true); !errors.Is(err, bookmark.ErrNoTemplate) {
		t.Errorf("without template: %v", err)
	}
	bare.Bookmark = []byte(strings.Repeat("[", 10))
	if _, err := NewWriter(&bare, Format{}); !errors.Is(err, bookmark.ErrNoTemplate) {
		t.Errorf("bad template: %v", err)
	}
}

func TestItemSizeIsTheSizeOfTheItem(t *testing.T) {
	for _, r := range []*Resource{podsProto, podsJSON, foos} {
		for _, w := range everyWriter(t, r) {
			src := stored(t, pod(0), r.Source)
			n, ok := w.ItemSize(src)
			if want := w.format.Encoding == Protobuf && r.Source == Protobuf; ok != want {
				t.Errorf("%v %+v: size known: %v", r.Source, w.format, ok)
			}
			if got, err := w.AppendItem(nil, src); ok && (err != nil || len(got) != n) {
				t.Errorf("%+v: %d bytes, not %d: %v", w.format, len(got), n, err)
			}
		}
	}
}

// TestErrorEventInCBORIsAsRecorded compares with an event of an apiserver that offers CBOR (wire.md 3).
func TestErrorEventInCBORIsAsRecorded(t *testing.T) {
	const recorded = "2dn3okZvYmplY3TZ2fenR21lc3NhZ2VYInRvbyBvbGQgcmVzb3VyY2UgdmVyc2lvbjogMSAoMTMxOClGcmVhc29uR0V4cGlyZWREY29kZRkBmkRraW5kRlN0YXR1c0phcGlWZXJzaW9uQnYxSG1ldGFkYXRhoEZzdGF0dXNHRmFpbHVyZUR0eXBlRUVSUk9S"
	want, err := base64.StdEncoding.DecodeString(recorded)
	if err != nil {
		t.Fatal(err)
	}
	w := mustWriter(t, foos, Format{Encoding: CBOR})
	sameCBOR(t, w.AppendErrorEvent(nil, &apierrors.NewResourceExpired("too old resource version: 1 (1318)").ErrStatus), want, false)
	if w.ContentType(true) != "application/cbor-seq" || w.ContentType(false) != MediaCBOR {
		t.Error("content types")
	}
}

func TestSetResourceVersionChangesNothingElse(t *testing.T) {
	for _, r := range []*Resource{podsProto, podsJSON} {
		p := pod(1)
		got, err := r.SetResourceVersion(nil, stored(t, p, r.Source), "777")
		if err != nil {
			t.Fatal(err)
		}
		p.ResourceVersion = "777"
		equal(t, got, stored(t, p, r.Source))
	}
	if s := foos.GroupResource().String(); s != "foos.ex.io" {
		t.Error(s)
	}
}

// TestWriterIsSafeForConcurrentUse shares writers between goroutines; run it with -race.
func TestWriterIsSafeForConcurrentUse(t *testing.T) {
	src := stored(t, pod(1), Protobuf)
	var group sync.WaitGroup
	for _, w := range everyWriter(t, podsProto) {
		w = w.At(time.Unix(1700000000, 0))
		want, err := w.AppendItem(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			group.Go(func() {
				for range 20 {
					if got, err := w.AppendItem(nil, src); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%+v: %v", w.format, err)
					}
				}
			})
		}
	}
	group.Wait()
}
