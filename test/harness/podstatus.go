package harness

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// status returns the status that a kubelet reports for a running pod.
func (s *sample) status() corev1.PodStatus {
	host := fmt.Sprintf("172.18.%d.%d", s.number%4, s.IntN(250)+1)
	ip := fmt.Sprintf("10.%d.%d.%d", 64+s.number>>16, s.number>>8&255, s.number&255)
	return corev1.PodStatus{
		ObservedGeneration: 1,
		Phase:              corev1.PodRunning,
		Conditions: []corev1.PodCondition{
			s.condition(corev1.PodReadyToStartContainers, 2),
			s.condition(corev1.PodInitialized, 4),
			s.condition(corev1.PodReady, 9),
			s.condition(corev1.ContainersReady, 9),
			s.condition(corev1.PodScheduled, 0),
		},
		HostIP:    host,
		HostIPs:   []corev1.HostIP{{IP: host}},
		PodIP:     ip,
		PodIPs:    []corev1.PodIP{{IP: ip}},
		StartTime: ptr.To(s.after(0)),
		ContainerStatuses: []corev1.ContainerStatus{
			s.running("log-shipper", s.image("log-shipper")),
			s.running("server", s.image(s.app)),
		},
		QOSClass: corev1.PodQOSBurstable,
	}
}

func (s *sample) condition(kind corev1.PodConditionType, seconds int) corev1.PodCondition {
	return corev1.PodCondition{
		Type: kind, ObservedGeneration: 1, Status: corev1.ConditionTrue, LastTransitionTime: s.after(seconds),
	}
}

func (s *sample) running(name, image string) corev1.ContainerStatus {
	c := s.container(name, image)
	c.State.Running = &corev1.ContainerStateRunning{StartedAt: s.after(5)}
	return c
}

func (s *sample) container(name, image string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, Ready: true, Started: ptr.To(true), Image: image,
		RestartCount: int32(s.IntN(3)),
		ImageID:      "ghcr.io/shop/" + name + "@sha256:" + digest(image),
		ContainerID:  "containerd://" + s.hex(64),
	}
}
