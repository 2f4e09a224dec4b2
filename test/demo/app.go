package main

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	nameLabel = "app.kubernetes.io/name"
	hashLabel = appsv1.DefaultDeploymentUniqueLabelKey
)

// app describes the owner, configuration and service of a set of existing pods.
type app struct {
	pod      *corev1.Pod // one of them
	replicas int32
}

// makeApp creates the app's objects: the ReplicaSet after its pods and before its Deployment, so that the
// controllers adopt the existing objects instead of creating new ones.
func (s *samples) makeApp(ctx context.Context, a *app) error {
	core, apps := s.client.CoreV1(), s.client.AppsV1()
	ns, opts := a.pod.Namespace, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}
	if _, err := core.ConfigMaps(ns).Create(ctx, a.config(), opts); err != nil {
		return err
	}
	if _, err := core.Services(ns).Create(ctx, a.service(), opts); err != nil {
		return err
	}
	if _, err := apps.ReplicaSets(ns).Create(ctx, a.replicaSet(), opts); err != nil {
		return err
	}
	_, err := apps.Deployments(ns).Create(ctx, a.deployment(), opts)
	return err
}

func (a *app) name() string { return a.pod.Labels[nameLabel] }

// labels select the app's objects.
func (a *app) labels() map[string]string { return map[string]string{nameLabel: a.name()} }

// hashed returns the labels of one pod template generation.
func (a *app) hashed() map[string]string {
	labels := a.labels()
	labels[hashLabel] = a.pod.Labels[hashLabel]
	return labels
}

func (a *app) meta() metav1.ObjectMeta { return metav1.ObjectMeta{Name: a.name(), Labels: a.labels()} }

func (a *app) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: a.meta(), Spec: appsv1.DeploymentSpec{
		Replicas: &a.replicas,
		Selector: &metav1.LabelSelector{MatchLabels: a.labels()},
		Template: a.template(a.labels()),
	}}
}

func (a *app) replicaSet() *appsv1.ReplicaSet {
	meta := a.meta()
	meta.Name += "-" + a.pod.Labels[hashLabel]
	maps.Copy(meta.Labels, a.hashed())
	return &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{
		Replicas: &a.replicas,
		Selector: &metav1.LabelSelector{MatchLabels: a.hashed()},
		Template: a.template(a.hashed()),
	}}
}

// template returns the pod template: the pod without the fields that admission and the scheduler set.
func (a *app) template(labels map[string]string) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: a.pod.Annotations},
		Spec:       corev1.PodSpec{Containers: a.pod.DeepCopy().Spec.Containers},
	}
	for i := range t.Spec.Containers {
		t.Spec.Containers[i].VolumeMounts = nil
	}
	return t
}

func (a *app) service() *corev1.Service {
	return &corev1.Service{ObjectMeta: a.meta(), Spec: corev1.ServiceSpec{
		Selector: a.labels(),
		Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("http")}},
	}}
}

func (a *app) config() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: a.meta(), Data: map[string]string{
		"application.yaml": fmt.Sprintf("name: %s\nlisten: :8080\nlog: {level: info, format: json}\n"+
			"database: {host: db.%s.svc, pool: {max: 20, idle: 5, lifetime: 30m}}\n", a.name(), a.pod.Namespace),
		"features.json": `{"recommendations": true, "express-checkout": {"percent": 25}, "dark-mode": false}`,
	}}
}
