package deploy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// podSpec returns the pods' specification of a workload.
func podSpec(t *testing.T, o *unstructured.Unstructured) *corev1.PodSpec {
	t.Helper()
	spec, found, err := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	if !found || err != nil {
		t.Fatalf("%s: no pods: %v", o.GetName(), err)
	}
	out := &corev1.PodSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// pointed checks that a container finds the API at an address and trusts a CA of a ConfigMap, and that it keeps
// what it had.
func pointed(t *testing.T, spec *corev1.PodSpec, c corev1.Container, host, port, configMap string) {
	t.Helper()
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	if env["KUBERNETES_SERVICE_HOST"] != host || env["KUBERNETES_SERVICE_PORT"] != port || env["KUBERNETES_SERVICE_PORT_HTTPS"] != port {
		t.Errorf("%s: environment %v", c.Name, env)
	}
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.MountPath] = m.Name
	}
	name := mounts["/var/run/secrets/kubernetes.io/serviceaccount"]
	for _, v := range spec.Volumes {
		if v.Name != name {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.ConfigMap != nil && s.ConfigMap.Name != configMap {
				t.Errorf("%s trusts %s", c.Name, s.ConfigMap.Name)
			}
		}
		if len(v.Projected.Sources) != 3 || v.Projected.Sources[0].ServiceAccountToken == nil {
			t.Errorf("%s: sources %+v", c.Name, v.Projected.Sources)
		}
		return
	}
	t.Errorf("%s: mounts %v", c.Name, mounts)
}

func TestClientComponentPointsLabelledWorkloadsToSluice(t *testing.T) {
	all := objects(t, render(t, newGuide(t, ""), clientBlock))
	if len(all) != 4 {
		t.Errorf("%d objects", len(all))
	}
	for _, key := range []string{"Deployment/controller", "DaemonSet/agent", "Job/job"} {
		spec := podSpec(t, all[key])
		for _, c := range spec.Containers {
			pointed(t, spec, c, "sluice.sluice.svc", "443", "sluice-ca")
		}
	}
	controller := podSpec(t, all["Deployment/controller"])
	if controller.Containers[0].Env[0].Value != "kept" || controller.Containers[1].VolumeMounts[0].MountPath != "/data" {
		t.Errorf("the containers have lost something: %+v", controller.Containers)
	}
	if len(controller.InitContainers[0].Env) != 0 || len(podSpec(t, all["StatefulSet/other"]).Volumes) != 0 {
		t.Error("something else is pointed to Sluice")
	}
}

func TestSidecarComponentAddsSluiceBeforeTheContainers(t *testing.T) {
	all := objects(t, render(t, newGuide(t, ""), sidecarBlock))
	for _, key := range []string{"Deployment/controller", "DaemonSet/agent", "Job/job"} {
		spec := podSpec(t, all[key])
		for _, c := range spec.Containers {
			pointed(t, spec, c, "127.0.0.1", "16443", "sluice-sidecar-ca")
		}
		sidecar := spec.InitContainers[0]
		if sidecar.Name != "sluice" || *sidecar.RestartPolicy != corev1.ContainerRestartPolicyAlways || sidecar.StartupProbe == nil {
			t.Errorf("%s: %+v", key, sidecar)
		}
		for _, e := range sidecar.Env {
			t.Errorf("%s: the sidecar itself is pointed elsewhere: %+v", key, e)
		}
	}
	if n := len(podSpec(t, all["Deployment/controller"]).InitContainers); n != 2 {
		t.Errorf("%d init containers", n)
	}
	if spec := podSpec(t, all["StatefulSet/other"]); len(spec.InitContainers) != 0 {
		t.Error("another workload has a sidecar")
	}
	for key, o := range all {
		if o.GetKind() != "ConfigMap" {
			continue
		}
		if !strings.HasPrefix(key, "ConfigMap/sluice-sidecar-") {
			t.Errorf("%s is created", key)
			continue
		}
		file := load(t, typed[corev1.ConfigMap](t, o).Data["sluice.yaml"])
		limit := podSpec(t, all["Job/job"]).InitContainers[0].Resources.Limits.Memory().Value()
		fitsMemory(t, "sidecar", file, limit)
	}
}
