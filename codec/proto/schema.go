package proto

import (
	"reflect"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	client "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
)

// A Schema is the compiled schema of one built-in kind. It is immutable and safe for concurrent
// use.
type Schema struct {
	APIVersion, Kind string

	plan     *plan
	typeMeta [2]literal // kind and apiVersion, by notation
}

// Object is an object of a built-in kind.
type Object interface {
	metav1.ObjectMetaAccessor
	metav1.Object
	Marshal() ([]byte, error)
}

// New returns the zero object of the kind, or nil if it has no metadata, as lists.
func (s *Schema) New() Object {
	o, _ := reflect.New(s.plan.typ).Interface().(Object)
	return o
}

// A kindKey identifies a kind as an envelope does.
type kindKey struct{ apiVersion, kind string }

// compiled holds the schemas that have been asked for; nil for a kind that cannot be compiled. Plans are
// shared between kinds and refer to each other, so no plan may be read before the compiler has finished.
var compiled = struct {
	mu       sync.Mutex
	compiler compiler
	schemas  map[kindKey]*Schema
}{compiler: compiler{}, schemas: map[kindKey]*Schema{}}

// Lookup returns the schema of a built-in kind, such as "apps/v1", "Deployment", or false if the
// kind is not compiled in or has no Protobuf encoding. Lists are kinds too. The first call takes
// some milliseconds, the first call for a kind some tens of microseconds, later calls one map
// access.
func Lookup(apiVersion, kind string) (*Schema, bool) {
	key := kindKey{apiVersion, kind}
	t, ok := registered()[key]
	if !ok {
		return nil, false
	}
	compiled.mu.Lock()
	defer compiled.mu.Unlock()
	s, ok := compiled.schemas[key]
	if !ok {
		if p, err := compiled.compiler.compile(t); err == nil { // a test proves that every kind compiles
			s = &Schema{APIVersion: apiVersion, Kind: kind, plan: p, typeMeta: typeMetaLiterals(apiVersion, kind)}
		}
		compiled.schemas[key] = s
	}
	return s, s != nil
}

// registered returns the Go types of all kinds with a Protobuf encoding.
var registered = sync.OnceValue(func() map[kindKey]reflect.Type {
	scheme, types := runtime.NewScheme(), map[kindKey]reflect.Type{}
	if err := groups.AddToScheme(scheme); err != nil {
		return nil // a test proves that this does not happen
	}
	for gvk, t := range scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && isProtobufKind(t) {
			types[kindKey{gvk.GroupVersion().String(), gvk.Kind}] = t
		}
	}
	return types
})

// isProtobufKind reports whether t is a kind with a Protobuf encoding. Watch events are registered
// as kinds too, but they are frames, which ParseEvent parses.
func isProtobufKind(t reflect.Type) bool {
	return t != reflect.TypeFor[metav1.WatchEvent]() && reflect.PointerTo(t).Implements(unmarshalerType)
}

// groups registers every API group and version that is compiled in: all of k8s.io/api that apiservers serve,
// and the groups of apiextensions and of the aggregator.
var groups = runtime.SchemeBuilder{
	client.AddToScheme,
	apiextensionsv1.AddToScheme,
	apiextensionsv1beta1.AddToScheme,
	apiregistrationv1.AddToScheme,
	apiregistrationv1beta1.AddToScheme,
	metav1.AddMetaToScheme,
	metav1beta1.AddMetaToScheme,
}
