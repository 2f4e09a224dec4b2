package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

const (
	// heartbeat is the interval at which kubelets renew their leases; the node lifecycle controller marks a
	// node as unreachable after 50 s.
	heartbeat     = 10 * time.Second
	leaseSeconds  = 40
	nodeVersion   = "v1.37.2"
	leaseTimeForm = "2006-01-02T15:04:05.000000Z07:00" // metav1.MicroTime
)

// nodes simulates the part of kubelets that keeps nodes ready.
type nodes struct {
	client kubernetes.Interface
	names  []string
}

// newNodes returns the nodes that the pods are bound to.
func newNodes(client kubernetes.Interface, pods []*corev1.Pod) *nodes {
	n := &nodes{client: client}
	for _, p := range pods {
		n.names = append(n.names, p.Spec.NodeName)
	}
	slices.Sort(n.names)
	n.names = slices.Compact(n.names)
	return n
}

// register creates the nodes, ready, and their leases.
func (n *nodes) register(ctx context.Context) error {
	return each(ctx, n.names, func(ctx context.Context, name string) error {
		if _, err := n.client.CoreV1().Nodes().Create(ctx, newNode(name), metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, newLease(name), metav1.CreateOptions{})
		return err
	})
}

// keepReady renews the leases in turn until the context ends.
func (n *nodes) keepReady(ctx context.Context) error {
	next := 0
	every(ctx, heartbeat/time.Duration(len(n.names)), func() {
		patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(leaseTimeForm))
		// The next heartbeat repeats a failed renewal.
		_, _ = n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Patch(ctx,
			n.names[next], types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubelet"})
		next = (next + 1) % len(n.names)
	})
	return nil
}

func newLease(node string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       &node,
			LeaseDurationSeconds: ptr.To[int32](leaseSeconds),
			RenewTime:            ptr.To(metav1.NowMicro()),
		},
	}
}

func newNode(name string) *corev1.Node {
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyZone: "zone-" + name[len(name)-1:],
		}},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Conditions: []corev1.NodeCondition{
				nodeCondition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
				nodeCondition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
				nodeCondition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
				nodeCondition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
			},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: nodeVersion, ContainerRuntimeVersion: "containerd://2.1.4", OperatingSystem: "linux",
				Architecture: "amd64", OSImage: "Debian GNU/Linux 13 (trixie)", KernelVersion: "6.12.48",
			},
		},
	}
}

func nodeCondition(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
}
