package conformance

import (
	"bytes"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"sluice/test/harness"
)

// kinds are the built-in kinds; all others are unstructured.
var kinds = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, metav1.AddMetaToScheme, metav1beta1.AddMetaToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err) // the kinds are compiled in
		}
	}
	return s
}()

// reencode re-encodes a JSON response in CBOR with apimachinery's serializers: the response that an
// apiserver with CBOR would give. Only a watch may be empty.
func reencode(a *harness.Response) error {
	a.Header.Del("Content-Length")
	if len(a.Body) > 0 && !bytes.HasPrefix(a.Body, []byte(`{"type":"`)) {
		a.Header.Set("Content-Type", "application/cbor")
		body, err := reencodeObject(a.Body)
		a.Body = body
		return err
	}
	a.Header.Set("Content-Type", "application/cbor-seq")
	var body []byte
	for line := range bytes.Lines(a.Body) {
		var event metav1.WatchEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return err
		}
		object, err := reencodeObject(event.Object.Raw)
		if err != nil {
			return err
		}
		item, err := encodeCBOR(&metav1.WatchEvent{Type: event.Type, Object: runtime.RawExtension{Raw: object}})
		if err != nil {
			return err
		}
		body = append(body, item...)
	}
	a.Body = body
	return nil
}

func reencodeObject(body []byte) ([]byte, error) {
	object, _, err := serializer.NewCodecFactory(kinds).UniversalDeserializer().Decode(body, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		// Lists too: decoding them as lists adds kinds to their items.
		var content map[string]any
		err = json.Unmarshal(body, &content)
		object = &unstructured.Unstructured{Object: content}
	}
	if err != nil {
		return nil, err
	}
	return encodeCBOR(object)
}

func encodeCBOR(object runtime.Object) ([]byte, error) {
	var out bytes.Buffer
	err := cbor.NewSerializer(kinds, kinds).Encode(object, &out)
	return out.Bytes(), err
}
