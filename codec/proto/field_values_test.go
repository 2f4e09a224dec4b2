package proto

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// lookupJSON reads the path of a SelectableField out of an object decoded from JSON.
func lookupJSON(obj any, path string) string {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		name, first := strings.CutSuffix(name, "[0]")
		m, _ := obj.(map[string]any)
		if obj = m[name]; first {
			list, _ := obj.([]any)
			if obj = nil; len(list) > 0 {
				obj = list[0]
			}
		}
	}
	switch v := obj.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return fmt.Sprint(int64(v))
	}
	return ""
}

// Random objects of all kinds have the same values in their JSON.
func TestFieldValuesEqualThePathsInJSON(t *testing.T) {
	n := 0
	eachFilled(t, func(t *testing.T, m *Schema, raw []byte) {
		if len(m.SelectableFields()) == 0 {
			return
		}
		n++
		js, err := m.AppendJSON(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		var obj any
		if err := json.Unmarshal(js, &obj); err != nil {
			t.Fatal(err)
		}
		got, err := m.AppendFieldValues(nil, raw)
		if err != nil || len(got) != len(m.SelectableFields()) {
			t.Fatalf("%q, %v", got, err)
		}
		for i, s := range m.SelectableFields() {
			want := lookupJSON(obj, s.Path)
			if want == "" {
				want = lookupJSON(obj, s.Fallback)
			}
			if want == "" {
				want = s.Zero
			}
			// JSON cannot represent invalid UTF-8.
			if strings.ToValidUTF8(got[i], "") != strings.ReplaceAll(strings.ToValidUTF8(want, ""), "\ufffd", "") && !strings.Contains(want, "\ufffd") {
				t.Errorf("%s %s %s: got %q, want %q", m.APIVersion, m.Kind, s.Label, got[i], want)
			}
		}
	})
	if n < 100**fills {
		t.Errorf("only %d objects", n)
	}
}

// These are the rules of the registries beyond a plain path.
func TestFieldValuesFollowTheRegistries(t *testing.T) {
	node := "n1"
	for _, c := range []struct {
		apiVersion, kind string
		obj              message
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
		m := mustLookup(t, c.apiVersion, c.kind)
		i, ok := m.FieldIndex(c.label)
		if !ok {
			t.Errorf("%s %s has no %s", c.apiVersion, c.kind, c.label)
			continue
		}
		got, err := m.AppendFieldValues(nil, raw(t, c.obj))
		if err != nil || got[i] != c.want {
			t.Errorf("%s %s %s: got %q, %v, want %q", c.apiVersion, c.kind, c.label, got[i], err, c.want)
		}
	}
	for kind, label := range map[string]string{"Node": "metadata.namespace", "Namespace": "name", "Pod": "spec.hostname", "ConfigMap": "data"} {
		if _, ok := mustLookup(t, "v1", kind).FieldIndex(label); ok {
			t.Errorf("%s has %s", kind, label)
		}
	}
}
