package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sluice/test/harness"
)

// clientPod returns a pod that runs the client, with all that the restricted Pod Security Standard
// demands.
func clientPod(name string, command ...string) *corev1.Pod {
	no, yes := false, true
	var ready *corev1.Probe
	if slices.Equal(command, []string{"serve"}) {
		check := &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}
		ready = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: check}, PeriodSeconds: 1}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "client", Image: clientImage, ImagePullPolicy: corev1.PullNever, Args: command,
				Command: []string{"/client"}, ReadinessProbe: ready,
				Env: []corev1.EnvVar{{Name: "POD_NAMESPACE", ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"},
				}}},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// createPod creates a pod.
func (n *Node) createPod(t *testing.T, namespace string, pod *corev1.Pod) {
	t.Helper()
	if _, err := n.Client("admin").CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// waitPodsReady waits until there are count pods with the label, and all are ready, and returns them.
func (n *Node) waitPodsReady(t *testing.T, namespace, selector string, count int) []corev1.Pod {
	t.Helper()
	var pods *corev1.PodList
	harness.Eventually(t, "pods "+selector+" are ready", func() (err error) {
		pods, err = n.Client("admin").CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		if len(pods.Items) != count {
			return fmt.Errorf("there are %d of %d", len(pods.Items), count)
		}
		for _, p := range pods.Items {
			if !podReady(p) {
				return fmt.Errorf("%s is %s: %s", p.Name, p.Status.Phase, n.why(p))
			}
		}
		return nil
	})
	return pods.Items
}

func podReady(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return false
}

// why returns what the node says about a pod that is not ready.
func (n *Node) why(p corev1.Pod) string {
	text := ""
	for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		text += fmt.Sprintf("%s: %+v; ", s.Name, s.State)
	}
	events, err := n.Client("admin").CoreV1().Events(p.Namespace).List(context.Background(),
		metav1.ListOptions{FieldSelector: "involvedObject.name=" + p.Name})
	if err != nil {
		return text + err.Error()
	}
	for _, e := range events.Items {
		text += fmt.Sprintf("\n  %s %s", e.Reason, e.Message)
	}
	return text
}
