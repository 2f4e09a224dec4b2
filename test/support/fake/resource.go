package fake

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"sluice/codec"
)

// Resource is a resource as the fake serves it. Its objects are written NAMESPACE/NAME@VERSION, or
// NAME@VERSION if it is cluster-scoped; an empty NAME is that of a bookmark.
type Resource struct {
	GVR        schema.GroupVersionResource
	Kind       string
	Namespaced bool
	Protobuf   bool
	CBOR       bool // for custom resources
}

// A resource that is compiled in, and a custom one.
var (
	ConfigMaps = Resource{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true, true, false}
	Widgets    = Resource{schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}, "Widget", true, false, false}
)

// Encodings has a resource for each encoding in which objects are read.
var Encodings = map[string]Resource{"Protobuf": ConfigMaps, "JSON": Widgets, "CBOR": Widgets.InCBOR()}

// InJSON returns the resource as an apiserver without Protobuf and CBOR serves it.
func (r Resource) InJSON() Resource {
	r.Protobuf, r.CBOR = false, false
	return r
}

// InCBOR returns a custom resource as an apiserver with CBOR serves it.
func (r Resource) InCBOR() Resource {
	r.CBOR = true
	return r
}

// encoded returns JSON in the encoding of the resource.
func (r Resource) encoded(text []byte) []byte {
	if !r.CBOR {
		return text
	}
	item, err := codec.AppendFromJSON(nil, text, codec.CBOR)
	if err != nil {
		panic(err)
	}
	return item
}

func (r Resource) apiVersion() string { return r.GVR.GroupVersion().String() }

// ContentType returns the Content-Type of watches.
func (r Resource) ContentType() string {
	if r.Protobuf {
		return codec.MediaProtobuf + ";stream=watch"
	}
	if r.CBOR {
		return codec.MediaCBORSequence
	}
	return codec.MediaJSON
}

// FirstList returns an empty list as JSON, in the order of members that tells typed resources from
// custom ones.
func (r Resource) FirstList() []byte {
	if r.GVR.Group == "" {
		return fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[]}`, r.Kind, r.apiVersion())
	}
	return r.InJSON().Page("1", "")
}

// Page returns a page of a list at version rv; next is the token of the page after it.
func (r Resource) Page(rv, next string, objects ...string) []byte {
	if !r.Protobuf {
		var items []string
		for _, o := range objects {
			items = append(items, string(r.json(o, "")))
		}
		return r.encoded(fmt.Appendf(nil, `{"apiVersion":%q,"items":[%s],"kind":"%sList","metadata":{"continue":%q,"resourceVersion":%q}}`,
			r.apiVersion(), strings.Join(items, ","), r.Kind, next, rv))
	}
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: rv, Continue: next}}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	for _, o := range objects {
		list.Items = append(list.Items, *configMap(o, ""))
	}
	return enveloped(list)
}

// ObjectMeta returns the metadata of an object.
func ObjectMeta(object string) metav1.ObjectMeta {
	key, rv, _ := strings.Cut(object, "@")
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		namespace, name = "", key
	}
	return metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: rv}
}

func (r Resource) json(object, annotation string) []byte {
	meta := ObjectMeta(object)
	meta.Annotations = annotations(annotation)
	text, _ := json.Marshal(meta)
	return fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":%s}`, r.apiVersion(), r.Kind, text)
}

func annotations(name string) map[string]string {
	if name == "" {
		return nil
	}
	return map[string]string{name: "true"}
}

func configMap(object, annotation string) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: ObjectMeta(object), Data: map[string]string{"key": "value"}}
	m.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	m.Annotations = annotations(annotation)
	return m
}

// Added returns an ADDED event.
func (r Resource) Added(object string) []byte { return r.Event("ADDED", object) }

// Modified returns a MODIFIED event.
func (r Resource) Modified(object string) []byte { return r.Event("MODIFIED", object) }

// Deleted returns a DELETED event.
func (r Resource) Deleted(object string) []byte { return r.Event("DELETED", object) }

// Bookmark returns a bookmark.
func (r Resource) Bookmark(rv string) []byte { return r.Event("BOOKMARK", "@"+rv) }

// InitialEventsEnd returns the bookmark that ends the initial events of a streaming list.
func (r Resource) InitialEventsEnd(rv string) []byte {
	return r.event("BOOKMARK", "@"+rv, metav1.InitialEventsAnnotationKey)
}

// Event returns an event of any type.
func (r Resource) Event(eventType, object string) []byte { return r.event(eventType, object, "") }

func (r Resource) event(eventType, object, annotation string) []byte {
	if r.Protobuf {
		return r.Frame(eventType, enveloped(configMap(object, annotation)))
	}
	return r.Frame(eventType, r.json(object, annotation))
}

// Error returns an ERROR event.
func (r Resource) Error(code int32) []byte {
	s := &metav1.Status{Status: metav1.StatusFailure, Code: code, Message: "what happened"}
	s.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
	if r.Protobuf {
		return r.Frame("ERROR", enveloped(s))
	}
	raw, _ := json.Marshal(s)
	return r.Frame("ERROR", raw)
}

// Frame returns an event with the given bytes as its object.
func (r Resource) Frame(eventType string, object []byte) []byte {
	if !r.Protobuf {
		return r.encoded(fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", eventType, object))
	}
	e := &metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: object}}
	raw, err := e.Marshal()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
}

func enveloped(o runtime.Object) []byte {
	var b strings.Builder
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &b); err != nil {
		panic(err)
	}
	return []byte(b.String())
}
