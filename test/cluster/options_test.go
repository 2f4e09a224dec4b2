package cluster

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice/test/harness"
)

// operators creates or deletes the definitions that the chart's monitoring needs.
func (n *Node) operators(t *testing.T, verb string) {
	newKubectl(t, n.Kubeconfig("admin")).run(verb, "--filename="+harness.Path(t, "test/deploy/testdata/crds"))
}

// The chart offers the explicit proxy, and serves callers with client certificates from the cache.
func (e *edge) proxyServesClients(t *testing.T) {
	e.guide.Run("chart-client-ca")
	e.guide.Run("chart-proxy")
	e.k.run("rollout", "status", "--namespace="+edgeNamespace, "deployment/sluice", "--timeout=120s")
	gateways := e.waitReady(t)

	w := e.newWorkload(t, false)
	e.publishCA(w.namespace)
	e.servesFromCache(t, gateways, func() {
		e.createPod(t, w.namespace, w.proxied("http://"+e.address+":3128"))
		pod := e.waitPodsReady(t, w.namespace, "app=proxied", 1)[0]
		w.checkClient(t, pod, "https://"+e.k.clusterIP("default", "kubernetes")+":443")
	})
	if n := e.gauge(t, gateways, "sluice_proxy_connections_total", "decision=intercepted"); n == 0 {
		t.Error("no connection came through the proxy")
	}
	e.servesFromCache(t, gateways, func() {
		client := kubernetes.NewForConfigOrDie(e.config("admin-cert"))
		maps := client.CoreV1().ConfigMaps(w.namespace)
		for range 2 {
			if _, err := maps.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := maps.Get(t.Context(), "sluice-ca", metav1.GetOptions{ResourceVersion: "0"}); err != nil {
			t.Fatal(err)
		}
	})
}

// proxied returns a pod with a client that keeps the address of the apiserver, trusts the CA of
// Sluice, and finds the proxy in its environment.
func (w workload) proxied(proxy string) *corev1.Pod {
	pod := clientPod("proxied", "serve")
	pod.Spec.ServiceAccountName, pod.Spec.AutomountServiceAccountToken = clientAccount, new(bool)
	pod.Spec.Volumes = []corev1.Volume{{Name: "api", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "sluice-ca"}}},
		},
	}}}}
	c := &pod.Spec.Containers[0]
	c.Env = append(c.Env, corev1.EnvVar{Name: "HTTPS_PROXY", Value: proxy})
	c.VolumeMounts = []corev1.VolumeMount{{Name: "api", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}}
	return pod
}

// The chart is monitored, and takes away the right to read what is not named.
func (e *edge) rightsCanBeFew(t *testing.T) {
	e.guide.Run("chart-monitoring")
	e.k.run("--namespace="+edgeNamespace, "get", "servicemonitor/sluice", "prometheusrule/sluice")
	account := "--as=system:serviceaccount:" + edgeNamespace + ":sluice"
	e.k.run("auth", "can-i", "list", "secrets", account)
	e.guide.Run("chart-rights")
	e.k.run("auth", "can-i", "list", "deployments.apps", account)
	harness.Eventually(t, "Sluice may not list secrets", func() error {
		if out, err := e.k.command("auth", "can-i", "list", "secrets", account).Output(); err == nil || !strings.HasPrefix(string(out), "no") {
			return fmt.Errorf("the apiserver says %s, %w", out, err)
		}
		return nil
	})
}

// The chart serves the cluster of a kubeconfig, without a right in its own.
func (e *edge) servesAnotherCluster(t *testing.T) {
	e.guide.Shell("cp " + e.Kubeconfig("sluice") + " upstream.kubeconfig")
	e.guide.Run("chart-upstream")
	e.k.run("rollout", "status", "--namespace="+edgeNamespace, "deployment/sluice", "--timeout=120s")
	if out, err := e.k.command("get", "clusterrole/sluice").CombinedOutput(); err == nil {
		t.Errorf("it has rights in its own cluster: %s", out)
	}
	gateways := e.waitReady(t)
	e.checkClient(t, gateways)
}
