package discovery

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"sluice/codec/json"
	"sluice/codec/proto"
	"sluice/test/support/jsontest"
)

func TestSelectableFieldsEqualApiextensions(t *testing.T) {
	obj := []byte(`{"spec":{"color":"blue","n":5,"on":true,"off":false,"nothing":null,"empty":"","a.b":"dotted","deep":{"er":"x\u00e9\"<"},"list":[1],"a-b":"dash","f":1.50}}`)
	for _, path := range []string{".spec.color", ".spec.n", ".spec.on", ".spec.off", ".spec.nothing", ".spec.empty", ".spec['a.b']", `.spec['a\.b']`, ".spec['deep.er']", ".spec['deep'].er", `.spec.a\.b`, ".spec.deep.er", ".spec.a-b", ".spec.f", ".nope.x", ".spec.color.x", ".spec.list.x", ".spec['deep']['er']"} {
		names, ok := memberNames(path)
		if !ok {
			t.Errorf("%s is refused", path)
			continue
		}
		got, ok := json.Value(obj).Field(names...)
		if want := jsontest.Selectable(t, obj, path); !ok || got != want {
			t.Errorf("%s: %q, %v, want %q", path, got, ok, want)
		}
	}
}

func TestSelectableFieldsAreChainsOfNames(t *testing.T) {
	for _, path := range []string{"", ".", "..", ".a..b", ".a[0]", ".a[*]", ".*", ".a['b','c']", ".a[?(@.b)]", ".a['b", `.a["b"]`, ".a b", "{.a}", ".a.", `.a\`, "[a]", ".a['']"} {
		if got, ok := memberNames(path); ok {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// These are the rules of the registries beyond a plain path.
func TestFieldValuesFollowTheRegistries(t *testing.T) {
	node := "n1"
	for _, c := range []struct {
		apiVersion, kind string
		object           interface{ Marshal() ([]byte, error) }
		label, want      string
	}{
		{"v1", "Pod", &corev1.Pod{}, "spec.hostNetwork", "false"},
		{"v1", "Pod", &corev1.Pod{Spec: corev1.PodSpec{HostNetwork: true}}, "spec.hostNetwork", "true"},
		{"v1", "Pod", &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}, "spec.nodeName", "n"},
		{"v1", "Pod", &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}, "spec.host", "n"},
		{"v1", "Pod", &corev1.Pod{Status: corev1.PodStatus{PodIP: "1", PodIPs: []corev1.PodIP{{IP: "2"}}}}, "status.podIP", "1"},
		{"v1", "Pod", &corev1.Pod{Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "2"}, {IP: "3"}}}}, "status.podIP", "2"},
		{"v1", "Pod", &corev1.Pod{Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "2"}}}}, "status.podIPs", ""},
		{"v1", "Node", &corev1.Node{}, "spec.unschedulable", "false"},
		{"v1", "Node", &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, "spec.unschedulable", "true"},
		{"v1", "Event", &corev1.Event{ReportingController: "r"}, "source", "r"},
		{"v1", "Event", &corev1.Event{ReportingController: "r", Source: corev1.EventSource{Component: "c"}}, "source", "c"},
		{"v1", "Event", &corev1.Event{ReportingController: "r"}, "reportingComponent", "r"},
		{"events.k8s.io/v1", "Event", &eventsv1.Event{ReportingController: "r"}, "reportingController", "r"},
		{"events.k8s.io/v1", "Event", &eventsv1.Event{Regarding: corev1.ObjectReference{Name: "p"}}, "regarding.name", "p"},
		{"v1", "ReplicationController", &corev1.ReplicationController{}, "status.replicas", "0"},
		{"v1", "ReplicationController", &corev1.ReplicationController{Status: corev1.ReplicationControllerStatus{Replicas: 300}}, "status.replicas", "300"},
		{"batch/v1", "Job", &batchv1.Job{Status: batchv1.JobStatus{Succeeded: 2}}, "status.successful", "2"},
		{"resource.k8s.io/v1", "ResourceSlice", &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{NodeName: &node}}, "spec.nodeName", "n1"},
		{"resource.k8s.io/v1", "ResourceSlice", &resourcev1.ResourceSlice{}, "spec.nodeName", ""},
		{"v1", "PersistentVolume", &corev1.PersistentVolume{}, "metadata.namespace", ""},
	} {
		schema, _ := proto.Lookup(c.apiVersion, c.kind)
		raw, err := c.object.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		fields := BuiltinFields(c.apiVersion, c.kind, schema)
		i, ok := fields.Position(c.label)
		values, err := fields.Of(raw)
		if !ok || err != nil || values[i] != c.want {
			t.Errorf("%s %s %s: %v, %q, %v, want %q", c.apiVersion, c.kind, c.label, ok, values, err, c.want)
		}
	}
	for kind, label := range map[string]string{"Node": "metadata.namespace", "Namespace": "name", "Pod": "spec.hostname", "ConfigMap": "data"} {
		fields := BuiltinFields("v1", kind, nil)
		if _, ok := fields.Position(label); ok {
			t.Errorf("%s has %s", kind, label)
		}
	}
}
