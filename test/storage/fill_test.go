package storage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"
)

// fills is the number of random objects per kind and version.
const fills = 3

// label is on every object, so that lists contain nothing else.
const label = "sluice-storage"

// scheme has the kinds that apiservers serve or once served.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// A stored object is one that is written to etcd.
type stored struct {
	name string
	gvk  schema.GroupVersionKind
	obj  runtime.Object
}

// storedKinds returns the kinds, in every version that the apiserver can decode, whose objects are
// stored as objects of the resource. Versions that are not served any more are among them.
func storedKinds(r resource) []schema.GroupVersionKind {
	groups := []string{r.GV.Group}
	switch r.GV.Group + "/" + r.API.Kind {
	case "apps/DaemonSet", "apps/Deployment", "apps/ReplicaSet", "networking.k8s.io/Ingress", "networking.k8s.io/NetworkPolicy":
		groups = append(groups, "extensions")
	case "/Event":
		groups = append(groups, "events.k8s.io")
	case "events.k8s.io/Event":
		groups = append(groups, "")
	}
	var all []schema.GroupVersionKind
	for _, group := range groups {
		for _, gv := range scheme.PrioritizedVersionsForGroup(group) {
			if gvk := gv.WithKind(r.API.Kind); scheme.Recognizes(gvk) {
				all = append(all, gvk)
			}
		}
	}
	return all
}

// written are the objects of testdata/written by version and kind: they show what cells of Tables can be.
var written = sync.OnceValues(func() (map[string][]json.RawMessage, error) {
	files, err := filepath.Glob("testdata/written/*.yaml")
	all := make(map[string][]json.RawMessage)
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		err = errors.Join(err, readErr, yaml.UnmarshalStrict(text, &all))
	}
	return all, err
})

// writtenObjects returns the objects of testdata/written of every stored kind of the resource.
func writtenObjects(t *testing.T, r resource) (all []stored) {
	t.Helper()
	objects, err := written()
	if err != nil {
		t.Fatal(err)
	}
	for _, gvk := range storedKinds(r) {
		for _, text := range objects[gvk.GroupVersion().String()+" "+gvk.Kind] {
			obj, err := scheme.New(gvk)
			if err == nil {
				err = yaml.UnmarshalStrict(text, obj)
			}
			if err != nil {
				t.Fatalf("%s %s: %v", gvk, text, err)
			}
			s := stored{obj.(metav1.Object).GetName(), gvk, obj}
			identify(t, r, &s)
			all = append(all, s)
		}
	}
	return all
}

// storedObjects returns the written, example and random objects of every stored kind of the resource.
func storedObjects(t *testing.T, r resource) []stored {
	t.Helper()
	var all []stored
	for _, gvk := range storedKinds(r) {
		prefix := strings.TrimPrefix(strings.ReplaceAll(gvk.Group, ".", "-")+"-"+gvk.Version, "-")
		if obj := example(t, gvk); obj != nil {
			all = append(all, stored{prefix + "-example", gvk, obj})
		}
		for i := range fills {
			all = append(all, stored{prefix + "-random-" + strconv.Itoa(i), gvk, random(t, gvk, i)})
		}
	}
	for i := range all {
		identify(t, r, &all[i])
	}
	return append(all, writtenObjects(t, r)...)
}

// identify gives an object its name, namespace and label, and what its conversion cannot do without.
func identify(t *testing.T, r resource, s *stored) {
	t.Helper()
	m, err := meta.Accessor(s.obj)
	if err != nil {
		t.Fatal(err)
	}
	m.SetName(s.name)
	m.SetNamespace("")
	if r.API.Namespaced {
		m.SetNamespace(namespace)
	}
	labels := m.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[label] = "true"
	m.SetLabels(labels)
	m.SetResourceVersion("") // the apiserver never stores it
	annotate(s, m)
	switch o := s.obj.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		o.DeletionTimestamp = nil // the apiserver, which updates its status, deletes it otherwise
	case *apiregistrationv1.APIService:
		// The aggregator serves every APIService under its name, or panics.
		o.Spec.Group, o.Spec.Version = s.name+".example.com", "v1"
		o.DeletionTimestamp = nil // as above
		s.name = o.Spec.Version + "." + o.Spec.Group
		o.Name = s.name
	}
}

// annotate adds the annotations that conversions turn into fields. Versions whose conversion leaves an
// annotation alone get none: no apiserver since Kubernetes 1.16 writes them.
func annotate(s *stored, m metav1.Object) {
	a := m.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	odd := len(s.name) > 0 && s.name[len(s.name)-1]%2 == 1
	switch {
	case s.gvk.Group == "extensions", s.gvk.Group == "apps" && s.gvk.Version == "v1beta1":
		return
	case s.gvk.Kind == "DaemonSet" && odd:
		a["deprecated.daemonset.template.generation"] = "7"
	case s.gvk.Kind == "Deployment" && odd:
		a["deprecated.deployment.rollback.to"] = "9"
	case s.gvk.Kind == "HorizontalPodAutoscaler" && odd:
		a["autoscaling.alpha.kubernetes.io/conditions"] = `[{"type":"AbleToScale","status":"True","lastTransitionTime":"2020-01-02T03:04:05Z"}]`
		a["autoscaling.alpha.kubernetes.io/metrics"] = `[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]`
	default:
		return
	}
	m.SetAnnotations(a)
}

// example returns the example of k8s.io/api, or nil for kinds that it does not have.
func example(t *testing.T, gvk schema.GroupVersionKind) runtime.Object {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(examples(t), cmp.Or(gvk.Group, "core")+"."+gvk.Version+"."+gvk.Kind+".pb"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	obj, err := scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := storageCodec.Decode(b, nil, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// examples returns the directory of the examples of k8s.io/api.
func examples(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "testdata", "HEAD")
}

var storageCodec = protobuf.NewSerializer(scheme, scheme)

// encode returns an object in the storage encoding.
func encode(s stored) ([]byte, error) {
	s.obj.GetObjectKind().SetGroupVersionKind(s.gvk)
	var b bytes.Buffer
	err := storageCodec.Encode(s.obj, &b)
	return b.Bytes(), err
}

// random returns a random object, the same for the same arguments.
func random(t *testing.T, gvk schema.GroupVersionKind, n int) runtime.Object {
	t.Helper()
	obj, err := scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	h := fnv.New64()
	fmt.Fprint(h, gvk, n)
	newFiller(int64(h.Sum64())).Fill(obj)
	if gvk.Kind == "PriorityLevelConfiguration" {
		// The apiserver applies the specification, and a random one makes it panic.
		reflect.ValueOf(obj).Elem().FieldByName("Spec").Set(reflect.ValueOf(example(t, gvk)).Elem().FieldByName("Spec"))
	}
	return obj
}

// newFiller fills objects with values that storage can hold. No string is a value that the apiserver's
// controllers act on.
func newFiller(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(12).Funcs(
		func(s *string, c randfill.Continue) { *s = text(c.Rand) },
		func(b *[]byte, c randfill.Continue) { *b = []byte(text(c.Rand)) },
		func(*metav1.TypeMeta, randfill.Continue) {},
		func(n *int32, c randfill.Continue) { *n = int32(c.Intn(2000) - 1000) },
		func(n *int64, c randfill.Continue) { *n = c.Int63() >> c.Intn(63) },
		func(f *float64, c randfill.Continue) { *f = c.NormFloat64() },
		func(t *metav1.Time, c randfill.Continue) { t.Time = instant(c.Rand) },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = instant(c.Rand).Truncate(time.Microsecond) },
		func(d *metav1.Duration, c randfill.Continue) { d.Duration = time.Duration(c.Int63() >> c.Intn(63)) },
		func(q *quantity.Quantity, c randfill.Continue) {
			units := []string{"", "n", "m", "k", "M", "Ki", "Gi", "e3"}
			*q = quantity.MustParse(strconv.Itoa(c.Intn(5000)) + units[c.Intn(len(units))])
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			if *v = intstr.FromInt32(c.Int31n(100)); c.Bool() {
				*v = intstr.FromString(text(c.Rand))
			}
		},
		func(e *runtime.RawExtension, c randfill.Continue) { e.Raw = []byte(document(c.Rand)) },
		func(f *metav1.FieldsV1, c randfill.Continue) { f.SetRawString(document(c.Rand)) },
		func(v *apiextensionsv1.JSON, c randfill.Continue) { v.Raw = []byte(document(c.Rand)) },
	)
}

// text returns a short text with characters that encoders treat specially.
func text(r *rand.Rand) string {
	pieces := []string{"a", "name", "<", "&", "\"", "\\", "\n", "é", "世", "\u2028", "/", " ", ":", "- ", "#", "8", "true", "a longer stretch of text"}
	var b strings.Builder
	for range r.Intn(4) {
		b.WriteString(pieces[r.Intn(len(pieces))])
	}
	return b.String()
}

// instant returns a time so long ago that ages in Tables do not change while the test runs, or none.
func instant(r *rand.Rand) time.Time {
	if r.Intn(5) == 0 {
		return time.Time{}
	}
	return time.Unix(r.Int63n(1_500_000_000), r.Int63n(1e9)).UTC()
}

// document returns a JSON object as kube-apiserver accepts it where it expects an object.
func document(r *rand.Rand) string {
	docs := []string{`{}`, `{"f:metadata":{"f:labels":{".":{}}}}`, `{"apiVersion":"example.com/v1","kind":"Config","a<b":[1,2.5,null,"é"]}`, `{"b":1,"a":{"z":true}}`}
	return docs[r.Intn(len(docs))]
}
