package proto

import (
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// specials are the types that print themselves. Every other type with a
// MarshalJSON is refused by the compiler.
var specials = map[reflect.Type]op{
	reflect.TypeFor[metav1.Time]():          opTime,
	reflect.TypeFor[metav1.MicroTime]():     opMicroTime,
	reflect.TypeFor[metav1.Duration]():      opDuration,
	reflect.TypeFor[metav1.FieldsV1]():      opFieldsV1,
	reflect.TypeFor[resource.Quantity]():    opQuantity,
	reflect.TypeFor[intstr.IntOrString]():   opIntOrString,
	reflect.TypeFor[runtime.RawExtension](): opRawExtension,

	reflect.TypeFor[apiextensionsv1.JSON]():                              opSchemaJSON,
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():             opSchemaOrBool,
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():            opSchemaOrArray,
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]():      opSchemaOrStrings,
	reflect.TypeFor[apiextensionsv1beta1.JSON]():                         opSchemaJSON,
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrBool]():        opSchemaOrBool,
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrArray]():       opSchemaOrArray,
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrStringArray](): opSchemaOrStrings,
}
