package priority

import (
	"context"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyv1 "k8s.io/client-go/applyconfigurations/flowcontrol/v1"
	clientv1 "k8s.io/client-go/kubernetes/typed/flowcontrol/v1"
)

// readOnlyClient is the client of the library. The library uses it only to write the status of FlowSchemas,
// which is the apiserver's to write: that call succeeds without a request. There is nothing by which other
// methods could send one.
type readOnlyClient struct {
	clientv1.FlowcontrolV1Interface
}

// FlowSchemas implements clientv1.FlowcontrolV1Interface.
func (readOnlyClient) FlowSchemas() clientv1.FlowSchemaInterface { return readOnlySchemas{} }

type readOnlySchemas struct{ clientv1.FlowSchemaInterface }

// ApplyStatus implements clientv1.FlowSchemaInterface.
func (readOnlySchemas) ApplyStatus(context.Context, *applyv1.FlowSchemaApplyConfiguration,
	metav1.ApplyOptions) (*flowcontrolv1.FlowSchema, error) {
	return &flowcontrolv1.FlowSchema{}, nil
}
