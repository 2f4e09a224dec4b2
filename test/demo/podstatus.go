package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// runningStatus returns the status that a kubelet reports for a healthy pod.
func runningStatus(p *corev1.Pod, ip string) corev1.PodStatus {
	now := metav1.Now()
	s := corev1.PodStatus{
		ObservedGeneration: p.Generation,
		Phase:              corev1.PodRunning,
		QOSClass:           p.Status.QOSClass,
		PodIP:              ip,
		PodIPs:             []corev1.PodIP{{IP: ip}},
		StartTime:          &now,
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, ObservedGeneration: p.Generation, LastTransitionTime: now,
		})
	}
	for _, c := range p.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, Ready: true, Started: ptr.To(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return s
}

// restart changes the status to that of a container that crashed and restarted at once.
func restart(c *corev1.ContainerStatus) {
	now := metav1.Now()
	crash := &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: now, ContainerID: c.ContainerID}
	if c.State.Running != nil {
		crash.StartedAt = c.State.Running.StartedAt
	}
	c.LastTerminationState = corev1.ContainerState{Terminated: crash}
	c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	c.RestartCount++
}
