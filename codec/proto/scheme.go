package proto

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	client "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
)

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
